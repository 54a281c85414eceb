//! Strings, heredocs and numbers.

use super::Writer;

const TEXTS: [&str; 22] = [
    "x", "abc", " ", "$", "$$", "%{ if }", "{", "}", "#", "//", "'", "é", "日本", "😀", "e\u{301}",
    "\u{202e}", "\u{feff}", "\u{2028}", "\t", "\r", "\u{7f}", "\u{fffd}",
];

const ESCAPES: [&str; 18] = [
    "\\n",
    "\\t",
    "\\r",
    "\\a",
    "\\b",
    "\\f",
    "\\v",
    "\\\"",
    "\\\\",
    "\\x41",
    "\\101",
    "\\u0041",
    "\\U00000041",
    "\\u00e9",
    "\\U0001F600",
    "\\xc3\\xa9",
    "\\000",
    "\\x7f",
];

const WRONG_ESCAPES: [&str; 22] = [
    "\\/",
    "\\'",
    "\\d",
    "\\$",
    "\\8",
    "\\x4",
    "\\x4g",
    "\\12",
    "\\128",
    "\\u123",
    "\\u12 4",
    "\\U1234567",
    "\\xff",
    "\\377",
    "\\400",
    "\\777",
    "\\ud800",
    "\\U00110000",
    "\\Uffffffff",
    "\\",
    "\\é",
    "\\\n",
];

const INTERPOLATIONS: [&str; 17] = [
    "${b}",
    "${f(\"y\")}",
    "${ { { } } }",
    "${}",
    "$${b}",
    "${\n}",
    "${\r\n}",
    "${\\\"}",
    "${\\n}",
    "${\"}\"}",
    "${ \\\\ }",
    "${ \\x41 }",
    "${a}${b}",
    "${'\"'}",
    "${# }\n}",
    "${é}",
    "${\"\\\"\"}",
];

const WRONG_INTERPOLATIONS: [&str; 5] = ["${ \\/ }", "${", "${{}", "${\0}", "${\"{\"}"];

const MARKERS: [&str; 9] = ["E", "EOF", "EOF", "END", "E_1", "_", "1", "ÄÖ", "e"];

const INDENTATIONS: [&str; 10] = [
    "", "", "  ", "  ", "    ", "\t", "\t\t", " \t", "   ", "\u{b}",
];

const LINES: [&str; 22] = [
    "text",
    "  text",
    "\ttext",
    "",
    " ",
    "   ",
    "\\n ${ \" {",
    "EOF2",
    "E O F",
    "EOF ",
    "E,",
    "xEOF",
    "\"",
    "é日本",
    "# no comment",
    "\r",
    "a\rb",
    "\u{a0}x",
    "\u{2028}",
    "<<EOF",
    "}",
    "\u{c}",
];

const NUMBERS: [&str; 33] = [
    "0",
    "1",
    "10",
    "-7",
    "-0",
    "0x1F",
    "0Xff",
    "-0x10",
    "017",
    "00",
    "-010",
    "1e3",
    "1E+2",
    "25e-1",
    "0e0",
    ".5",
    "1.",
    "1.5",
    "-1.",
    "1.e1",
    "-1.5e-1",
    "08.5",
    "09.",
    "9223372036854775807",
    "-9223372036854775808",
    "0x7fffffffffffffff",
    "-0x8000000000000000",
    "1e-400",
    "1.7976931348623157e308",
    "5e-324",
    "08e1",
    "00.5",
    "0.0",
];

const WRONG_NUMBERS: [&str; 38] = [
    "+5",
    "- 5",
    "-",
    "--1",
    "-.5",
    "-.5E-1",
    "-1e400",
    "-9223372036854775809",
    "-x",
    ".",
    ".5e1",
    "00x1",
    "02000000000000000000000",
    "08",
    "089",
    "0b1",
    "0e",
    "0o7",
    "0x",
    "0x-1",
    "0x1.5",
    "0x1e+5",
    "0x8000000000000000",
    "0xg",
    "1-2",
    "1.2.3",
    "1.5e+",
    "10s",
    "1_000",
    "1e",
    "1e+",
    "1e400",
    "1e5.5",
    "1e5x",
    "1ee5",
    "1x1",
    "9223372036854775808",
    "٣",
];

impl Writer<'_> {
    pub(super) fn string(&mut self) {
        self.push("\"");
        for _ in 0..self.chance.below(5) {
            if self.rarely(15) {
                match self.chance.below(4) {
                    0 => self.pick(&WRONG_INTERPOLATIONS),
                    1 => self.pick(&["\n", "\r\n", "\0", "\\\r\n"]),
                    _ => self.pick(&WRONG_ESCAPES),
                }
            }
            match self.chance.below(30) {
                0..12 => self.pick(&TEXTS),
                12..22 => self.pick(&ESCAPES),
                22..24 => self.code_point(),
                24 => self.any_character(),
                _ => self.pick(&INTERPOLATIONS),
            }
        }
        if !self.rarely(80) {
            self.push("\"");
        }
    }

    fn code_point(&mut self) {
        let number = match self.chance.below(3) {
            0 => self.chance.below(0x100),
            1 if self.wild => self.chance.below(0x11_0000),
            _ => self.chance.below(0xd800),
        };
        let escape = match self.chance.below(4) {
            0 => format!("\\{:03o}", number % 0o200),
            1 => format!("\\x{:02X}", number % 0x80),
            2 => format!("\\u{:04x}", number & 0xffff),
            _ => format!("\\U{number:08x}"),
        };
        self.push(&escape);
    }

    fn any_character(&mut self) {
        let number = u32::try_from(self.chance.below(0x11_0000)).unwrap_or_default();
        let character = char::from_u32(number).unwrap_or('\u{fffd}');
        if !matches!(character, '\0' | '"' | '\\' | '\n') {
            self.text.push(character);
        }
    }

    pub(super) fn heredoc(&mut self) {
        let marker = self.chance.pick(&MARKERS);
        let line_end = if self.chance.once_in(4) { "\r\n" } else { "\n" };
        self.push("<<");
        if self.chance.once_in(2) {
            self.push("-");
        }
        if self.rarely(30) {
            self.pick(&[" ", "\"", "-", ""]);
        }
        self.push(marker);
        if self.rarely(30) {
            self.pick(&[" ", "\t", "\r", "-", "x"]);
        }
        self.push(line_end);
        let indentation = self.chance.pick(&INDENTATIONS);
        let even = self.chance.once_in(2);
        for _ in 0..self.chance.below(5) {
            if !even && self.chance.once_in(4) {
                self.pick(&INDENTATIONS);
            } else {
                self.push(indentation);
            }
            if self.chance.once_in(2) {
                self.push("text");
            } else {
                self.pick(&LINES);
            }
            let line_end = if self.chance.once_in(20) {
                "\r\n"
            } else {
                line_end
            };
            self.push(line_end);
        }
        if !even && self.chance.once_in(3) {
            self.pick(&INDENTATIONS);
        } else {
            self.push(indentation);
        }
        self.push(marker);
        if self.rarely(20) {
            self.pick(&[" ", ",", "\r", "]", "\r\r"]);
        }
        if !self.rarely(30) {
            self.push(line_end);
        }
    }

    pub(super) fn number(&mut self) {
        if self.rarely(10) {
            self.pick(&WRONG_NUMBERS);
            return;
        }
        match self.chance.below(20) {
            0..9 => self.pick(&NUMBERS),
            9 if self.wild => {
                for _ in 0..=self.chance.below(5) {
                    self.pick(&["0", "1", "9", ".", "e", "-", "x", "7", "E+", "f", "_"]);
                }
            }
            10..13 => {
                let bits = self.chance.number();
                let float = f64::from_bits(bits);
                if float.is_finite() {
                    self.push(&format!("{float:e}"));
                }
            }
            13 => {
                let number = self.chance.number();
                let shift = self.chance.below(63) + 1;
                self.push(&format!("{:#x}", number >> shift));
            }
            14 => {
                let number = self.chance.number();
                let shift = self.chance.below(63) + 1;
                self.push(&format!("0{:o}", number >> shift));
            }
            _ => {
                let number = self.chance.number().cast_signed();
                let shift = self.chance.below(64);
                self.push(&(number >> shift).to_string());
            }
        }
    }
}
