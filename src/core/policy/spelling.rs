//! The name that somebody may have meant.
//!
//! Owns the likeness of names. It is for reports only: nothing is ever read under a likely name.

/// The known name that is most like this one, if any is like it at all.
pub(super) fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let (edits, word) = known
        .iter()
        .map(|word| (distance(name, word), *word))
        .min()?;
    (edits <= 2 && edits < word.len().div_ceil(2)).then_some(word)
}

/// How many letters must be put in, left out or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    // Longer names are none of ours; the work stays bounded.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (n, x) in a.bytes().take(40).enumerate() {
        let mut diagonal = n;
        let mut left = n.saturating_add(1);
        let mut next = vec![left];
        for (y, above) in b.bytes().zip(row.into_iter().skip(1)) {
            let changed = diagonal.saturating_add(usize::from(x != y));
            left = changed
                .min(left.saturating_add(1))
                .min(above.saturating_add(1));
            diagonal = above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        let known = ["name", "match", "on_repeat"];
        assert_eq!(nearest("mach", &known), Some("match"));
        assert_eq!(nearest("on_repaet", &known), Some("on_repeat"));
        assert_eq!(nearest("x", &known), None);
        assert_eq!(nearest("retries", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn a_distance_counts_letters_put_in_left_out_or_changed() {
        for (a, b, edits) in [
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "axc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }
}
