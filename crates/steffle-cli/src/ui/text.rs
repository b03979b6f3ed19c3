//! Paragraphs.

/// Columns of a line of text.
const WIDTH: usize = 88;

/// Breaks a paragraph into lines; ends with a line break.
pub(crate) fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            wrapped.push('\n');
            column = 0;
        }
        if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped.push('\n');
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_not_too_long_and_no_word_is_lost() {
        let text = "words of several lengths, and one that is longer ".repeat(7);
        let wrapped = wrap(&text);
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wrapped), words(&text));
    }
}
