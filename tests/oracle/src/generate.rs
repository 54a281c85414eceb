//! Writes documents that use every documented form of the language, and now and then an undocumented one.

mod scalar;

use crate::chance::Chance;

/// Few, so that keys are repeated.
const COMMON_KEYS: [&str; 20] = [
    "a",
    "b",
    "c",
    "d",
    "e.f",
    "g-h",
    "i_j",
    "k1",
    "größe",
    "名",
    "task",
    "name",
    "names",
    "driver",
    "terraform",
    "consul",
    "A",
    "Task",
    "module",
    "x",
];

const RARE_KEYS: [&str; 28] = [
    "_",
    "_1",
    "a.b",
    "a-b",
    "a_b.c-d",
    "null",
    "trueish",
    "größe",
    "名前",
    "x٣",
    "ªb",
    "éa",
    "e\u{301}",
    "aⅣ",
    "true",
    "false",
    "1a",
    "-a",
    ".a",
    "٣x",
    "Ⅳ",
    "a:b",
    "a/b",
    "a\u{200d}b",
    "\u{feff}a",
    "a\u{a0}b",
    "K",
    "𝒳",
];

const BLANKS: [&str; 12] = [
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " # } note\n",
    " // \" note\r\n",
    " /* [ { */ ",
    "\t\n ",
    "/**/",
];

const RARE_BLANKS: [&str; 14] = [
    "", "\u{b}", "\u{c}", "\u{85}", "\u{a0}", "\u{2003}", "\u{2028}", "\u{3000}", "\u{feff}",
    "# c", "/* *", "#\r", "//\0\n", "/*/",
];

/// A whole document. Every second one keeps to the language, the others leave it now and then.
pub(crate) fn document(chance: &mut Chance) -> Vec<u8> {
    let mut writer = Writer {
        chance,
        text: String::new(),
        depth: 0,
        wild: false,
    };
    writer.wild = writer.chance.once_in(2);
    if writer.chance.once_in(3) {
        writer.gap();
    }
    writer.items(5);
    writer.text.into_bytes()
}

struct Writer<'a> {
    chance: &'a mut Chance,
    text: String,
    depth: usize,
    /// Whether it may leave the language.
    wild: bool,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn pick(&mut self, choices: &[&str]) {
        let text = self.chance.pick(choices);
        self.push(text);
    }

    /// True once in `times`, but only if the document may leave the language.
    fn rarely(&mut self, times: usize) -> bool {
        self.wild && self.chance.once_in(times)
    }

    /// Blanks that separate.
    fn gap(&mut self) {
        if self.rarely(80) {
            self.pick(&RARE_BLANKS);
        } else {
            self.pick(&BLANKS);
        }
        if self.chance.once_in(8) {
            self.pick(&BLANKS);
        }
    }

    /// Blanks where none are needed.
    fn maybe_gap(&mut self) {
        if !self.chance.once_in(3) {
            self.gap();
        }
    }

    fn items(&mut self, most: usize) {
        for _ in 0..self.chance.below(most + 1) {
            self.item();
            if self.rarely(20) {
                self.pick(&[",,", ";", "", ", ,", ":", "}"]);
            }
            match self.chance.below(8) {
                0 | 1 => {
                    self.maybe_gap();
                    self.push(",");
                    self.maybe_gap();
                }
                2 => self.gap(),
                _ => self.push("\n"),
            }
        }
    }

    fn item(&mut self) {
        self.key();
        if self.rarely(30) {
            self.wrong_item();
            return;
        }
        match self.chance.below(7) {
            0..4 => {
                self.maybe_gap();
                self.push("=");
                self.maybe_gap();
                self.value();
            }
            4 => {
                self.maybe_gap();
                self.object();
            }
            _ => {
                for _ in 0..=self.chance.below(2) {
                    self.gap();
                    self.key();
                }
                self.maybe_gap();
                self.object();
            }
        }
    }

    /// A wrong text after a key.
    fn wrong_item(&mut self) {
        match self.chance.below(4) {
            0 => {
                self.gap();
                self.key();
                self.pick(&["=", " = "]);
                self.value();
            }
            1 => self.value(),
            2 => self.pick(&["=", " = ", "==1", " =\n", ": 1", "[1]"]),
            _ => {}
        }
    }

    fn key(&mut self) {
        if self.rarely(20) {
            match self.chance.below(3) {
                0 => self.pick(&RARE_KEYS),
                _ => self.word(),
            }
            return;
        }
        match self.chance.below(20) {
            0..15 => self.pick(&COMMON_KEYS),
            15..18 => {
                self.push("\"");
                self.pick(&COMMON_KEYS);
                self.push("\"");
            }
            18 => self.string(),
            _ => self.pick(&[
                "\"\"",
                "\"a b\"",
                "\"\\x61\"",
                "\"${\"x\"}\"",
                "\"true\"",
                "\"1\"",
            ]),
        }
    }

    fn word(&mut self) {
        const PARTS: [&str; 14] = [
            "a", "Z", "_", "-", ".", "0", "9", "é", "ß", "名", "٣", "true", "ǅ", "ⅷ",
        ];
        for _ in 0..=self.chance.below(4) {
            self.pick(&PARTS);
        }
    }

    fn value(&mut self) {
        // So deep only now and then, and never endless.
        let nested = self.depth < 4;
        if self.rarely(40) {
            self.pick(&[
                "null",
                "True",
                "FALSE",
                "x",
                "on",
                "var.a",
                "f(\"x\")",
                "'x'",
                "`x`",
                "{{ key \"x\" }}",
                "[",
                "]",
                "",
                "=1",
            ]);
            return;
        }
        match self.chance.below(40) {
            0..14 => self.string(),
            20..23 => self.pick(&["true", "false"]),
            23..28 => self.heredoc(),
            28..34 if nested => self.list(),
            34..40 if nested => self.object(),
            _ => self.number(),
        }
    }

    fn list(&mut self) {
        self.depth += 1;
        self.push("[");
        self.maybe_gap();
        if self.chance.once_in(20) {
            self.push(",");
        }
        let count = self.chance.below(4);
        for index in 0..count {
            self.value();
            self.maybe_gap();
            if self.rarely(20) {
                self.pick(&[";", "", " ", ", ,"]);
            } else if index + 1 < count || self.chance.once_in(2) {
                self.pick(&[",", ",", ",", ",,", " , , "]);
            }
            self.maybe_gap();
        }
        if !self.rarely(60) {
            self.push("]");
        }
        self.depth -= 1;
    }

    fn object(&mut self) {
        if self.depth > 7 {
            self.push("{}");
            return;
        }
        self.depth += 1;
        self.push("{");
        self.maybe_gap();
        self.items(3);
        if !self.rarely(60) {
            self.push("}");
        }
        self.depth -= 1;
    }
}
