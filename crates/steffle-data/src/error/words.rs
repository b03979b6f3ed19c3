//! Names in messages.

/// A question after a name that is not known, if a known one is near.
pub(crate) fn meant(name: &str, known: &[String]) -> String {
    crate::nearest(name, known).map_or_else(String::new, |near| format!(": did you mean `{near}`?"))
}

/// Names in a message: at most twenty, then how many more.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "(none)".to_owned();
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
