//! Makes a document with a difference as small as possible.

use anyhow::Result;

/// Removes and simplifies as long as `still` holds; at most about `tries` calls of it.
pub(crate) fn shrink(
    document: &[u8],
    mut tries: usize,
    mut still: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<Vec<u8>> {
    let mut smallest = document.to_vec();
    let mut length = smallest.len().div_ceil(2).max(1);
    loop {
        let before = smallest.len();
        let mut at = 0;
        while at < smallest.len() && tries > 0 {
            let mut candidate = smallest.clone();
            candidate.drain(at..smallest.len().min(at + length));
            tries -= 1;
            if still(&candidate)? {
                smallest = candidate;
            } else {
                at += length;
            }
        }
        if tries == 0 || (length == 1 && smallest.len() == before) {
            break;
        }
        length = length.div_ceil(2).max(1);
    }
    for at in 0..smallest.len() {
        if tries == 0 || smallest[at] == b'a' {
            continue;
        }
        let mut candidate = smallest.clone();
        candidate[at] = b'a';
        tries -= 1;
        if still(&candidate)? {
            smallest = candidate;
        }
    }
    Ok(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_is_left() {
        let document = b"x = 1\ny = [ 1, $, 2 ]\nz { }\n";
        let small = shrink(document, 1000, |candidate| Ok(candidate.contains(&b'$'))).unwrap();
        assert_eq!(small, b"$");
    }

    #[test]
    fn what_cannot_be_removed_becomes_plain() {
        let small = shrink(b"[1, 2]", 1000, |candidate| Ok(candidate.len() >= 3)).unwrap();
        assert_eq!(small, b"aaa");
    }

    #[test]
    fn the_number_of_tries_is_limited() {
        let mut tries = 0;
        shrink(&[b'x'; 500], 20, |_| {
            tries += 1;
            Ok(false)
        })
        .unwrap();
        assert!(tries <= 20, "{tries}");
    }
}
