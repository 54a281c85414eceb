//! Answers of the XML API, as far as a commit needs them.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Elements within each other, at most.
const DEEPEST: usize = 32;

/// Elements of an answer, at most: that of a large commit has some hundreds.
const MOST_ELEMENTS: usize = 10_000;

/// Bytes of the name of an element, at most. Each text is kept with the names around it.
const LONGEST_NAME: usize = 128;

/// The answer is not one of the API.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The answer is not XML.
    #[error("the answer is no XML")]
    Xml(#[from] quick_xml::Error),
    /// An attribute is wrong.
    #[error("the answer is no XML")]
    Attribute(#[from] quick_xml::events::attributes::AttrError),
    /// The answer is XML, but not from the XML API.
    #[error("the answer is not one of the XML API")]
    Unlike,
}

/// The content of `<response>`.
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
        let mut open = Open::default();
        loop {
            match reader.read_event()? {
                Event::Start(element) if answer.is_none() => answer = Some(Self::begin(&element)?),
                Event::Empty(element) if answer.is_none() => {
                    answer = Some(Self::begin(&element)?);
                    break;
                }
                Event::Start(element) => {
                    if let Some(answer) = &mut answer {
                        open.begin(element.name().as_ref(), answer)?;
                    }
                }
                // The end of `response` itself ends the answer.
                Event::End(_) if open.end().is_none() => break,
                Event::Text(text) => open.add(answer.as_mut(), &text),
                Event::CData(text) => open.add(answer.as_mut(), &text),
                Event::GeneralRef(reference) => {
                    let meant = match reference.resolve_char_ref()? {
                        Some(character) => character.to_string(),
                        None => entity(&reference).to_owned(),
                    };
                    open.add(answer.as_mut(), &meant);
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

    /// The message for people: the text of every element that holds messages.
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

/// The elements that have begun and not ended: their places among the texts of the answer, outermost first.
#[derive(Default)]
struct Open(Vec<usize>);

impl Open {
    fn begin(&mut self, name: &str, answer: &mut Answer) -> Result<(), AnswerError> {
        let is_too_much = self.0.len() >= DEEPEST
            || answer.texts.len() >= MOST_ELEMENTS
            || name.len() > LONGEST_NAME;
        if is_too_much {
            return Err(AnswerError::Unlike);
        }
        let around = self.0.last().and_then(|&place| answer.texts.get(place));
        let path = match around {
            Some((around, _text)) => format!("{around}/{name}"),
            None => name.to_owned(),
        };
        self.0.push(answer.texts.len());
        answer.texts.push((path, String::new()));
        Ok(())
    }

    fn end(&mut self) -> Option<usize> {
        self.0.pop()
    }

    /// Adds text to the innermost open element.
    fn add(&self, answer: Option<&mut Answer>, text: &str) {
        let known = self.0.last();
        let known = answer.zip(known);
        let known = known.and_then(|(answer, &place)| answer.texts.get_mut(place));
        if let Some((_path, known)) = known {
            known.push_str(text);
        }
    }
}

/// The five entities of XML itself; any other stands for nothing.
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
    fn reads_the_parts_that_a_commit_needs() {
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
    fn refuses_other_documents() {
        let deep = "<a>".repeat(1000);
        let cases = [
            "",
            "no xml",
            "<html></html>",
            "<response status=\"success\"><result>",
            "<response status=\"success\"></result>",
            "<response status=success>",
            &format!("<response>{deep}"),
            &format!("<response>{}</response>", "<a></a>".repeat(20_000)),
            &format!("<response><{0}></{0}></response>", "a".repeat(1000)),
            "<!DOCTYPE x [<!ENTITY a \"b\">]><x/>",
        ];
        for case in cases {
            assert!(Answer::read(case).is_err(), "{case}");
        }
    }

    #[test]
    fn text_behind_an_inner_element_belongs_to_the_outer_one() {
        let answer = Answer::read(
            "<response status=\"error\"><msg>a<line>b</line>c</msg><msg>d</msg></response>",
        );
        assert_eq!(answer.unwrap().message(), "ac; b; d");
    }

    #[test]
    fn entities_of_a_document_are_not_expanded() {
        let answer = Answer::read(
            "<!DOCTYPE response [<!ENTITY a \"boom\">]><response status=\"success\"><msg>&a;x</msg></response>",
        );
        assert_eq!(answer.unwrap().message(), "x");
    }
}
