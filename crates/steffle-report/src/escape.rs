//! Words inside HTML, SVG and attributes.

/// With every character that could end an element or an attribute replaced.
pub(crate) fn escape(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not XML; line breaks and tabs are.
            control if control.is_control() && !matches!(control, '\n' | '\t') => {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}
