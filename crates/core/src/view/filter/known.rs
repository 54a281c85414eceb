//! The expressions that Consul 1.8 supports.

/// Whether Consul 1.8 can parse the expression. The scanner has accepted it, so its nesting fits the stack. Consul
/// alone decides whether its fields exist.
pub(super) fn is_known(filter: &str) -> bool {
    let mut reader = Reader { rest: filter };
    reader.space();
    reader.expression().is_some() && {
        reader.space();
        reader.rest.is_empty()
    }
}

/// Parses from the beginning of a text. A method that returns `Some` removes the parsed text; otherwise the text
/// stays unchanged.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Terms with `and` and `or` between them.
    fn expression(&mut self) -> Option<()> {
        loop {
            self.term()?;
            let before = self.rest;
            if self.word("and").or_else(|| self.word("or")).is_none() {
                self.rest = before;
                return Some(());
            }
        }
    }

    /// An expression in parentheses or a comparison, after any number of `not`. The last `not` may be a field with
    /// this name.
    fn term(&mut self) -> Option<()> {
        let mut beginnings = vec![self.rest];
        while let Some(after) = self.rest.strip_prefix("not") {
            self.rest = after;
            if !self.space() {
                break;
            }
            beginnings.push(self.rest);
        }
        let innermost = beginnings.last()?;
        if let Some(inside) = innermost.strip_prefix('(') {
            self.rest = inside;
            self.space();
            self.expression()?;
            self.space();
            return self.literal(")");
        }
        while let Some(beginning) = beginnings.pop() {
            self.rest = beginning;
            if self.comparison().is_some() {
                return Some(());
            }
        }
        None
    }

    fn comparison(&mut self) -> Option<()> {
        let beginning = self.rest;
        let forms: [fn(&mut Self) -> Option<()>; 3] =
            [Self::field_and_value, Self::emptiness, Self::membership];
        forms.into_iter().find_map(|form| {
            self.rest = beginning;
            form(self)
        })
    }

    fn field_and_value(&mut self) -> Option<()> {
        self.field()?;
        let before = self.rest;
        self.space();
        if self.literal("==").or_else(|| self.literal("!=")).is_some() {
            self.space();
            return self.value();
        }
        self.rest = before;
        self.optional_not();
        self.word("contains").or_else(|| self.word("matches"))?;
        self.value()
    }

    fn emptiness(&mut self) -> Option<()> {
        self.field()?;
        self.word("is")?;
        if self.literal("not").is_some() && !self.space() {
            return None;
        }
        self.literal("empty")
    }

    fn membership(&mut self) -> Option<()> {
        self.value()?;
        self.optional_not();
        self.word("in")?;
        self.field()
    }

    /// A space and `not`, if a space and a further word follow.
    fn optional_not(&mut self) {
        let before = self.rest;
        if !(self.space() && self.literal("not").is_some()) {
            self.rest = before;
        }
    }

    fn field(&mut self) -> Option<()> {
        self.identifier()?;
        loop {
            let before = self.rest;
            if self.literal(".").and_then(|()| self.identifier()).is_some() {
                continue;
            }
            self.rest = before;
            if self.literal("[").is_none() {
                return Some(());
            }
            self.space();
            self.string()?;
            self.space();
            self.literal("]")?;
        }
    }

    fn value(&mut self) -> Option<()> {
        let beginning = self.rest;
        let forms: [fn(&mut Self) -> Option<()>; 3] = [Self::field, Self::number, Self::string];
        forms.into_iter().find_map(|form| {
            self.rest = beginning;
            form(self)
        })
    }

    fn identifier(&mut self) -> Option<()> {
        if !self
            .rest
            .starts_with(|first: char| first.is_ascii_alphabetic())
        {
            return None;
        }
        self.characters(|character| character.is_ascii_alphanumeric() || character == '_');
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let whole = self.characters(|digit| digit.is_ascii_digit());
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        if self.literal(".").is_some() && self.characters(|digit| digit.is_ascii_digit()).is_empty()
        {
            return None;
        }
        let ends =
            self.rest.is_empty() || self.rest.starts_with(is_space) || self.rest.starts_with(')');
        ends.then_some(())
    }

    fn string(&mut self) -> Option<()> {
        let quotes = self
            .rest
            .chars()
            .next()
            .filter(|first| matches!(first, '"' | '`'))?;
        let end = self.rest[1..].find(quotes)?;
        self.rest = &self.rest[end + 2..];
        Some(())
    }

    /// A word between spaces.
    fn word(&mut self, word: &str) -> Option<()> {
        let before = self.rest;
        let found = self.space() && self.literal(word).is_some() && self.space();
        if !found {
            self.rest = before;
        }
        found.then_some(())
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    /// Skips space. Returns whether there was any.
    fn space(&mut self) -> bool {
        !self.characters(is_space).is_empty()
    }

    fn characters(&mut self, are: fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next| !are(next)).unwrap_or(self.rest.len());
        let (found, rest) = self.rest.split_at(end);
        self.rest = rest;
        found
    }
}

/// The only characters that Consul treats as space.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}
