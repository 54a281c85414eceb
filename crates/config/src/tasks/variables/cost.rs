//! How much work the evaluation of an expression is, and how large its value can get, computed beforehand.
//!
//! Loops within loops, and text that is put into itself, grow a value far beyond the expression that makes
//! it, and the evaluation cannot be stopped. So every expression gets upper bounds first.

use hcl::Expression;
use hcl::expr::{ForExpr, ObjectKey, Operation, TemplateExpr, Traversal, TraversalOperator};
use hcl::template::{Directive, Element, ForDirective, Template};

/// Bytes of a value, and steps to it, that any expression may have.
const LIMIT: u64 = 16 << 20;

/// Length of a number or a truth value as text, at most.
const SCALAR: u64 = 32;

/// Steps of one exact operation.
const CALCULATION: u64 = 16;

/// Whether the expression, whose text has this length, can be evaluated in bounded time and memory.
/// Expressions without loops and templates always can.
pub(super) fn is_bounded(expression: &Expression, length: usize) -> bool {
    let mut cost = Cost {
        variables: Vec::new(),
        times: 1,
        steps: 0,
        largest: 0,
    };
    let size = cost.of(expression);
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    let limit = LIMIT.max(length.saturating_mul(8));
    cost.steps <= limit && size.bytes.max(cost.largest) <= limit
}

/// Upper bounds of a value.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// Elements of the largest collection that it is or has in it.
    elements: u64,
    /// Its text, and what stands between.
    bytes: u64,
    /// That of its largest element.
    element: u64,
}

impl Size {
    fn scalar(bytes: u64) -> Self {
        Self {
            elements: 0,
            bytes,
            element: 0,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            elements: self.elements.max(other.elements),
            bytes: self.bytes.max(other.bytes),
            element: self.element.max(other.element),
        }
    }

    /// A collection with one more element.
    fn and_element(self, element: Self) -> Self {
        Self {
            elements: self.elements.saturating_add(1).max(element.elements),
            bytes: self.bytes.saturating_add(element.bytes).saturating_add(2),
            element: self.element.max(element.bytes),
        }
    }

    fn with_key(self, key: Self) -> Self {
        let bytes = self.bytes.saturating_add(key.bytes);
        Self {
            bytes,
            ..self.or(key)
        }
    }

    /// The collection, or the text, that a loop makes of this body.
    fn repeated(self, times: u64) -> Self {
        Self {
            elements: self.elements.max(times),
            bytes: self.bytes.saturating_add(2).saturating_mul(times),
            element: self.bytes,
        }
    }

    /// The size of a loop variable over this value.
    fn one_of_it(self) -> Self {
        Self {
            elements: self.elements,
            bytes: self.element,
            element: self.element,
        }
    }
}

/// Walks an expression as the evaluation does, with each loop's body once.
#[derive(Debug)]
struct Cost {
    /// The loop variables at this place, the innermost last.
    variables: Vec<(String, Size)>,
    /// How often the current part is evaluated.
    times: u64,
    steps: u64,
    /// The largest value on the way.
    largest: u64,
}

impl Cost {
    fn of(&mut self, expression: &Expression) -> Size {
        self.steps = self.steps.saturating_add(self.times);
        let size = match expression {
            Expression::String(text) => {
                self.read(length(text));
                Size::scalar(length(text))
            }
            Expression::Array(values) => values
                .iter()
                .map(|value| self.of(value))
                .fold(Size::default(), Size::and_element),
            Expression::Object(members) => members
                .iter()
                .map(|(key, value)| {
                    let key = match key {
                        ObjectKey::Expression(key) => self.of(key),
                        key => Size::scalar(length(&key.to_string())),
                    };
                    self.of(value).with_key(key)
                })
                .fold(Size::default(), Size::and_element),
            Expression::TemplateExpr(template) => self.of_template_text(template),
            Expression::Variable(variable) => {
                let size = self.of_variable(variable.as_str());
                self.read(size.bytes);
                size
            }
            Expression::Traversal(traversal) => self.of_traversal(traversal),
            Expression::Parenthesis(inner) => self.of(inner),
            Expression::Conditional(choice) => {
                self.of(&choice.cond_expr);
                self.of(&choice.true_expr).or(self.of(&choice.false_expr))
            }
            Expression::Operation(operation) => {
                match &**operation {
                    Operation::Unary(unary) => self.of(&unary.expr),
                    Operation::Binary(binary) => {
                        self.of(&binary.lhs_expr).or(self.of(&binary.rhs_expr))
                    }
                };
                Size::scalar(SCALAR)
            }
            Expression::ForExpr(repeated) => self.of_loop(repeated),
            // An exact operation: its result is a number or a truth value.
            Expression::FuncCall(call) => {
                self.read(CALCULATION);
                call.args
                    .iter()
                    .map(|argument| self.of(argument))
                    .fold(Size::scalar(SCALAR), Size::or)
            }
            _ => Size::scalar(SCALAR),
        };
        self.largest = self.largest.max(size.bytes);
        size
    }

    /// The evaluation goes through so many bytes each time: it copies a value, or parses the text of a
    /// template again.
    fn read(&mut self, bytes: u64) {
        let steps = self.times.saturating_mul(bytes);
        self.steps = self.steps.saturating_add(steps);
    }

    fn of_variable(&self, name: &str) -> Size {
        let known = self.variables.iter().rev().find(|(known, _)| known == name);
        // Another name is an error of the evaluation.
        known.map_or(Size::scalar(SCALAR), |(_, size)| *size)
    }

    fn of_traversal(&mut self, traversal: &Traversal) -> Size {
        let mut size = self.of(&traversal.expr);
        for operator in &traversal.operators {
            if let TraversalOperator::Index(index) = operator {
                self.of(index);
            }
            let steps = self.times.saturating_mul(size.elements.max(1));
            self.steps = self.steps.saturating_add(steps);
        }
        // A part of a value is no larger; a splat makes a list of any value that is not a list.
        size.elements = size.elements.max(1);
        size.element = size.bytes;
        size
    }

    fn of_loop(&mut self, repeated: &ForExpr) -> Size {
        let source = self.of(&repeated.collection_expr);
        let body = self.within(
            source,
            repeated.key_var.as_ref().map(hcl::Identifier::as_str),
            repeated.value_var.as_str(),
            |cost| {
                if let Some(condition) = &repeated.cond_expr {
                    cost.of(condition);
                }
                let key = repeated.key_expr.as_ref().map(|key| cost.of(key));
                cost.of(&repeated.value_expr)
                    .with_key(key.unwrap_or_default())
            },
        );
        body.repeated(source.elements)
    }

    fn of_template_text(&mut self, text: &TemplateExpr) -> Size {
        match Template::from_expr(text) {
            Ok(template) => {
                self.read(length(match text {
                    TemplateExpr::QuotedString(text) => text,
                    TemplateExpr::Heredoc(heredoc) => &heredoc.template,
                }));
                self.of_template(&template)
            }
            // The evaluation reports this error too.
            Err(_error) => Size::default(),
        }
    }

    fn of_template(&mut self, template: &Template) -> Size {
        self.steps = self.steps.saturating_add(self.times);
        let mut size = Size::default();
        for element in template.elements() {
            let part = match element {
                Element::Literal(text) => Size::scalar(length(text)),
                Element::Interpolation(interpolation) => self.of(&interpolation.expr),
                Element::Directive(directive) => match &**directive {
                    Directive::If(choice) => {
                        self.of(&choice.cond_expr);
                        let otherwise = choice.false_template.as_ref();
                        let otherwise = otherwise.map(|template| self.of_template(template));
                        self.of_template(&choice.true_template)
                            .or(otherwise.unwrap_or_default())
                    }
                    Directive::For(repeated) => self.of_repeated_template(repeated),
                },
            };
            // A template of one interpolation is that value, any other is text.
            size = Size {
                bytes: size.bytes.saturating_add(part.bytes),
                ..size.or(part)
            };
        }
        self.largest = self.largest.max(size.bytes);
        size
    }

    fn of_repeated_template(&mut self, repeated: &ForDirective) -> Size {
        let source = self.of(&repeated.collection_expr);
        let body = self.within(
            source,
            repeated.key_var.as_ref().map(hcl::Identifier::as_str),
            repeated.value_var.as_str(),
            |cost| cost.of_template(&repeated.template),
        );
        body.repeated(source.elements)
    }

    /// Runs `look` inside a loop over `source`.
    fn within(
        &mut self,
        source: Size,
        key: Option<&str>,
        value: &str,
        look: impl FnOnce(&mut Self) -> Size,
    ) -> Size {
        let (outside, times) = (self.variables.len(), self.times);
        if let Some(key) = key {
            let size = Size::scalar(source.element.max(SCALAR));
            self.variables.push((key.to_owned(), size));
        }
        self.variables.push((value.to_owned(), source.one_of_it()));
        self.times = times.saturating_mul(source.elements);
        let size = look(self);
        self.times = times;
        self.variables.truncate(outside);
        size
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use hcl::edit::parser::parse_expr;

    use super::*;

    fn bounded(text: &str) -> bool {
        is_bounded(&parse_expr(text).unwrap().into(), text.len())
    }

    #[test]
    fn ordinary_expressions_are_bounded() {
        let numbers = vec!["\"10.0.0.1\""; 2000].join(", ");
        for text in [
            "1",
            "\"text\"",
            "{ a = [1, 2], \"b\" = null }",
            "[for a in [1, 2, 3] : a * 2]",
            "{ for k, v in { a = 1, b = 2 } : v => k... if v > 1 }",
            "[for a in [[1, 2], [3]] : [for b in a : \"${b}-${b}\"]]",
            "\"%{ for a in [1, 2] }${a}%{ if a > 1 },%{ else };%{ endif }%{ endfor }\"",
            &format!("[for a in [{numbers}] : {{ address = a, port = 80 }}]"),
        ] {
            assert!(bounded(text), "{text}");
        }
    }

    #[test]
    fn loops_in_loops_are_not() {
        let many = vec!["1"; 300].join(",");
        let text = format!("[for a in [{many}] : [for b in [{many}] : [for c in [{many}] : 1]]]");
        assert!(!bounded(&text));
        let text = format!(
            "\"%{{ for a in [{many}] }}%{{ for b in [{many}] }}%{{ for c in [{many}] }}.%{{ endfor }}%{{ endfor }}%{{ endfor }}\""
        );
        assert!(!bounded(&text));
    }

    #[test]
    fn long_texts_in_loops_are_not() {
        let many = vec!["1"; 5000].join(",");
        let long = "x".repeat(8000);
        for text in [
            format!("[for a in [{many}] : \"{long}${{a}}\" == \"\"]"),
            format!("[for a in [{many}] : \"{long}\" == \"\"]"),
            format!("[for l in [\"{long}\"] : [for a in [{many}] : l == \"\"]]"),
        ] {
            assert!(!bounded(&text), "{}", &text[text.len() - 30..]);
        }
    }

    #[test]
    fn text_that_is_put_into_itself_is_not() {
        let mut text = format!("[\"{}\"]", "x".repeat(100));
        for level in 0..8 {
            let name = format!("v{level}");
            let twice = format!("${{{name}}}").repeat(20);
            text = format!("[for {name} in {text} : \"{twice}\"]");
        }
        assert!(text.len() < 2000);
        assert!(!bounded(&text));
    }
}
