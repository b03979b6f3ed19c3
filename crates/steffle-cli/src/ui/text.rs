//! Paragraphs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

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

/// How many rows were left out for missing values and which columns they lack, the worst ones first,
/// as lines; nothing if none were.
pub(crate) fn left_out(rows: usize, missing: &BTreeMap<String, usize>) -> String {
    const SHOWN: usize = 8;
    if rows == 0 {
        return String::new();
    }
    let mut columns: Vec<(&String, &usize)> = missing.iter().collect();
    columns.sort_by_key(|&(_, count)| Reverse(count));
    let shown = columns.iter().take(SHOWN).map(|(name, count)| format!("`{name}`: {count}"));
    let mut shown: Vec<String> = shown.collect();
    if columns.len() > SHOWN {
        shown.push(format!("and {} more columns", columns.len() - SHOWN));
    }
    wrap(&format!("{rows} rows left out for missing values ({})", shown.join(", ")))
}

/// Text without control characters that names and cells could smuggle into a terminal, nor
/// characters that turn the direction of writing: both are escaped. Line breaks, tabs and this
/// program's own bold stay.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(bold) = BOLD.iter().find(|bold| rest.starts_with(**bold)) {
            shown.push_str(bold);
            rest = &rest[bold.len()..];
            continue;
        }
        let turns = matches!(first, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if turns || (first.is_control() && !matches!(first, '\n' | '\t')) {
            shown.extend(first.escape_default());
        } else {
            shown.push(first);
        }
        rest = &rest[first.len_utf8()..];
    }
    shown
}

/// Settings that the library names, `<drop age>`, as the flags that they are here: `--drop age`.
pub(crate) fn flags(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, from) = rest.split_at(start);
        shown.push_str(before);
        let inside = &from[1..];
        let end = inside.find(['<', '>']).filter(|&end| inside[end..].starts_with('>'));
        let named = end.map(|end| &inside[..end]).filter(|named| {
            let key = named.split(' ').next().unwrap_or_default();
            key.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())
                && crate::args::is_flag(key)
        });
        if let Some(named) = named {
            shown.push_str("--");
            shown.push_str(named);
            rest = &inside[named.len() + 1..];
        } else {
            shown.push('<');
            rest = inside;
        }
    }
    shown + rest
}

/// Sentences of the library, with its settings as flags.
pub(crate) fn all_flags(sentences: &[String]) -> Vec<String> {
    sentences.iter().map(|sentence| flags(sentence)).collect()
}

/// The only escapes that this program writes itself.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[0m"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_shown_as_flags_and_nothing_else_is() {
        let shown = flags("say <decimal point>, <drop a b> or <pool>; `<=50K` <b> <decimal <seed>");
        assert_eq!(shown, "say --decimal point, --drop a b or --pool; `<=50K` <b> <decimal --seed");
        assert_eq!(flags("1 < 2 > 0 <"), "1 < 2 > 0 <");
    }

    #[test]
    fn control_characters_are_escaped() {
        let shown = printable("\x1b[1mbold\x1b[0m a\x1b[2Jb\r\u{7}\u{202e}c\n\td");
        assert_eq!(shown, "\x1b[1mbold\x1b[0m a\\u{1b}[2Jb\\r\\u{7}\\u{202e}c\n\td");
    }

    #[test]
    fn lines_are_not_too_long_and_no_word_is_lost() {
        let text = "words of several lengths, and one that is longer ".repeat(7);
        let wrapped = wrap(&text);
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wrapped), words(&text));
    }
}
