//! Damages documents, so that texts close to the language are tested too.

use crate::chance::Chance;

const LONGEST_PIECE: usize = 24;

const PIECES: [&[u8]; 48] = [
    b"\"",
    b"\\",
    b"${",
    b"}",
    b"{",
    b"[",
    b"]",
    b",",
    b"=",
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"\t",
    b"<<",
    b"<<-",
    b"<<A\n",
    b"A\n",
    b"-",
    b"+",
    b".",
    b"0",
    b"8",
    b"0x",
    b"1e",
    b"_",
    b"#",
    b"//",
    b"/*",
    b"*/",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xef\xbb\xbf",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"true",
    b"a",
    b"a = 1",
    b"a {}",
    b":",
    b";",
    b"'",
    b"$",
];

/// Changes `document` in one to three places; `other` gives material.
pub(crate) fn mutate(document: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    for _ in 0..=chance.below(3) {
        let at = chance.below(document.len() + 1);
        match chance.below(7) {
            0 => flip(document, at, chance),
            1 => {
                let length = chance.below(LONGEST_PIECE);
                let end = document.len().min(at + length);
                document.drain(at..end);
            }
            2 => {
                document.truncate(at);
            }
            3 => {
                let from = chance.below(other.len() + 1);
                let length = chance.below(LONGEST_PIECE * 2);
                let to = other.len().min(from + length);
                document.splice(at..at, other[from..to].iter().copied());
            }
            4 => {
                let to = document.len().min(at + chance.below(LONGEST_PIECE));
                let copy = document[at..to].to_vec();
                let target = chance.below(document.len() + 1);
                document.splice(target..target, copy);
            }
            _ => {
                let piece = chance.pick(&PIECES);
                document.splice(at..at, piece.iter().copied());
            }
        }
    }
}

fn flip(document: &mut [u8], at: usize, chance: &mut Chance) {
    let bit = chance.below(8);
    if let Some(byte) = document.get_mut(at) {
        *byte ^= 1 << bit;
    }
}
