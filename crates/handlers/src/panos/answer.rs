//! Answers of the XML API, as far as a commit needs them.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Elements within each other, at most.
const DEEPEST: usize = 32;

/// No answer of the API.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It is no XML.
    #[error("the answer is no XML")]
    Xml(#[from] quick_xml::Error),
    /// An attribute is wrong.
    #[error("the answer is no XML")]
    Attribute(#[from] quick_xml::events::attributes::AttrError),
    /// It is XML, but not that of the API.
    #[error("the answer is not one of the XML API")]
    Unlike,
}

/// What `<response>` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    status: String,
    /// A number that says more about the status.
    pub(super) code: Option<String>,
    /// Texts of elements, with the names of the elements around them: `result/job`.
    texts: Vec<(String, String)>,
}

impl Answer {
    pub(super) fn read(document: &str) -> Result<Self, AnswerError> {
        let mut reader = Reader::from_str(document);
        let mut answer = None;
        let mut path = Vec::<String>::new();
        loop {
            match reader.read_event()? {
                Event::Start(element) if answer.is_none() => answer = Some(Self::begin(&element)?),
                Event::Empty(element) if answer.is_none() => {
                    answer = Some(Self::begin(&element)?);
                    break;
                }
                Event::Start(element) => {
                    if path.len() >= DEEPEST {
                        return Err(AnswerError::Unlike);
                    }
                    path.push(name(&element));
                    if let Some(answer) = &mut answer {
                        answer.texts.push((path.join("/"), String::new()));
                    }
                }
                // The one of `response` itself ends everything.
                Event::End(_) if path.pop().is_none() => break,
                Event::Text(text) => {
                    add(answer.as_mut(), &path, &text);
                }
                Event::CData(text) => add(answer.as_mut(), &path, &text),
                Event::GeneralRef(reference) => {
                    let meant = match reference.resolve_char_ref()? {
                        Some(character) => character.to_string(),
                        None => entity(&reference).to_owned(),
                    };
                    add(answer.as_mut(), &path, &meant);
                }
                Event::Eof => return Err(AnswerError::Unlike),
                _ => {}
            }
        }
        answer.ok_or(AnswerError::Unlike)
    }

    fn begin(response: &BytesStart<'_>) -> Result<Self, AnswerError> {
        if response.name().as_ref() != "response" {
            return Err(AnswerError::Unlike);
        }
        let mut answer = Self::default();
        for attribute in response.attributes() {
            let attribute = attribute?;
            let value = attribute.value.into_owned();
            match attribute.key.as_ref() {
                "status" => answer.status = value,
                "code" => answer.code = Some(value),
                _ => {}
            }
        }
        Ok(answer)
    }

    pub(super) fn is_success(&self) -> bool {
        self.status == "success"
    }

    /// The text of the first element at `path`, if it has one.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        let mut known = self.texts.iter();
        let text = known.find_map(|(known, text)| (known == path).then_some(text.trim()))?;
        (!text.is_empty()).then_some(text)
    }

    /// What it says to a person: every text whose element is about that.
    pub(super) fn message(&self) -> String {
        let says = |path: &str| {
            let mut names = path.split('/');
            names.any(|name| matches!(name, "msg" | "details" | "warnings"))
        };
        let said = self.texts.iter().filter(|(path, _text)| says(path));
        let said = said.map(|(_path, text)| text.trim());
        let said: Vec<_> = said.filter(|text| !text.is_empty()).collect();
        said.join("; ")
    }
}

fn name(element: &BytesStart<'_>) -> String {
    element.name().as_ref().to_owned()
}

fn add(answer: Option<&mut Answer>, path: &[String], text: &str) {
    let Some(answer) = answer else { return };
    let path = path.join("/");
    // Behind an inner element the text of the outer one goes on.
    let mut known = answer.texts.iter_mut().rev();
    if let Some((_path, known)) = known.find(|(known, _)| *known == path) {
        known.push_str(text);
    }
}

/// The five that XML has by itself; others stand for nothing.
fn entity(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "apos" => "'",
        "quot" => "\"",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_commit_needs_is_read() {
        let answer = Answer::read(
            "<?xml version=\"1.0\"?>\n<response status=\"success\" code=\"19\"><result><msg>\
             <line>job &lt;4&gt; &#x26; <![CDATA[more]]></line><line>two</line></msg><job>4</job></result></response>\n",
        )
        .unwrap();
        assert!(answer.is_success());
        assert_eq!(answer.code.as_deref(), Some("19"));
        assert_eq!(answer.text("result/job"), Some("4"));
        assert_eq!(answer.text("result/key"), None);
        assert_eq!(answer.message(), "job <4> & more; two");
        let empty = Answer::read("<response status=\"error\"/>").unwrap();
        assert!(!empty.is_success());
        assert_eq!(empty.message(), "");
    }

    #[test]
    fn anything_else_is_refused() {
        let deep = "<a>".repeat(1000);
        let cases = [
            "",
            "no xml",
            "<html></html>",
            "<response status=\"success\"><result>",
            "<response status=\"success\"></result>",
            "<response status=success>",
            &format!("<response>{deep}"),
            "<!DOCTYPE x [<!ENTITY a \"b\">]><x/>",
        ];
        for case in cases {
            assert!(Answer::read(case).is_err(), "{case}");
        }
    }

    #[test]
    fn entities_of_a_document_are_not_expanded() {
        let answer = Answer::read(
            "<!DOCTYPE response [<!ENTITY a \"boom\">]><response status=\"success\"><msg>&a;x</msg></response>",
        );
        assert_eq!(answer.unwrap().message(), "x");
    }
}
