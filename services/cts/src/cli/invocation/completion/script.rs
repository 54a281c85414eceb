//! Scripts that make a shell ask the program.

use crate::cli::arguments::Shell;

const BASH: &str = r#"# Completion of cts in bash: source <(cts completion bash)
_cts_complete() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" "$1" 2>/dev/null)
    # A directory is not the end of a path.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _cts_complete cts
"#;

const ZSH: &str = r#"#compdef cts
# Completion of cts in zsh: source <(cts completion zsh), or as the file _cts in a directory of $fpath
_cts_complete() {
    local -a candidates
    local line="${(j: :)words[1,CURRENT-1]} $PREFIX"
    candidates=(${(f)"$(COMP_LINE="$line" COMP_POINT="" "${words[1]}" 2>/dev/null)"})
    compadd -- ${candidates:#*/}
    # A directory is not the end of a path.
    compadd -S '' -- ${(M)candidates:#*/}
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _cts_complete "$@"
else
    compdef _cts_complete cts
fi
"#;

const FISH: &str = r#"# Completion of cts in fish: cts completion fish | source
function __cts_complete
    set -l program (commandline -opc)[1]
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "
    $program 2>/dev/null
end
complete -c cts -f -a "(__cts_complete)"
"#;

/// The script for `cts completion`.
pub(crate) const fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    }
}
