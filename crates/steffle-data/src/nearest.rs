//! The name that a typing error most likely meant.

/// The known name nearest to `word`: the same but for case, or at most two edits away, fewer in
/// short words.
///
/// ```
/// let columns = ["income".to_owned(), "sex".to_owned()];
/// assert_eq!(steffle_data::nearest("imcome", &columns).map(String::as_str), Some("income"));
/// assert_eq!(steffle_data::nearest("wealth", &columns), None);
/// ```
pub fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a String> {
    let lower = word.to_lowercase();
    let most = (word.chars().count() / 2).min(2);
    let distances = known.iter().map(|name| (edits(&lower, &name.to_lowercase()), name));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word() {
        let known = ["lambda", "label", "silos", "Age"].map(str::to_owned);
        let found = |word| nearest(word, &known).map(String::as_str);
        assert_eq!(found("lamda"), Some("lambda"));
        assert_eq!(found("silo"), Some("silos"));
        assert_eq!(found("age"), Some("Age"));
        assert_eq!((found("temperature"), found("xy"), found("")), (None, None, None));
    }

    #[test]
    fn distances_by_hand() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("same", "same"), 0);
    }
}
