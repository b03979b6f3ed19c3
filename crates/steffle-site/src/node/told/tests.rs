use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

/// Codes that lose their words, as the comment on [`WITH_WORDS`] says; those below `steffle::privacy` and
/// `steffle::data` do so by what they begin with.
const WITHOUT_WORDS: [&str; 23] = [
    "steffle::ledger::budget",
    "steffle::ledger::columns",
    "steffle::ledger::list",
    "steffle::ledger::open_runs",
    "steffle::ledger::roll",
    "steffle::ledger::stopped",
    "steffle::ledger::strangers",
    "steffle::node::attributes",
    "steffle::node::cap",
    "steffle::node::ids",
    "steffle::node::journal",
    "steffle::node::model",
    "steffle::node::range",
    "steffle::node::records",
    "steffle::node::response",
    "steffle::node::schema",
    "steffle::node::scores",
    "steffle::node::unsaid",
    "steffle::one_shot::rare_column",
    "steffle::one_shot::release",
    "steffle::privacy",
    "steffle::privacy::out_of_range",
    "steffle::data::file",
];

/// Where refusals of a node are made.
const MADE: [&str; 5] = [
    "steffle-attributes/src",
    "steffle-data/src/parts",
    "steffle-privacy/src/ledger",
    "steffle-site/src",
    "steffle-wire/src",
];

/// Whether a refusal of this code, with a number, is told as it is.
fn keeps_words(code: &str) -> bool {
    let refused =
        Refused { numbers: vec![7319.0], ..Refused::new(code, "it would cost mu 0.7319") };
    let said = told(refused.clone());
    assert_eq!(said.code, code);
    if code == Refused::IDS {
        // Its numbers are places of the roster.
        assert!(!said.text.contains("7319"), "{said}");
        return false;
    }
    assert!(said == refused || (said.numbers.is_empty() && !said.text.contains("7319")), "{said}");
    said == refused
}

/// Codes in the sources below a folder, but for tests and the list itself.
fn written(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            written(&path, codes);
        } else if !["tests.rs", "told.rs"].iter().any(|name| path.ends_with(name)) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let quoted = code.split('"').skip(1).step_by(2);
            let named = |text: &&str| {
                let word = |c: char| c.is_ascii_lowercase() || c == '_' || c == ':';
                text.starts_with("steffle::") && !text.ends_with(':') && text.chars().all(word)
            };
            codes.extend(quoted.filter(named).map(str::to_owned));
        }
    }
}

#[test]
fn a_code_that_nobody_decided_about_loses_its_words() {
    for code in [
        "steffle::ledger::",
        "steffle::ledger::next_year",
        "steffle::ledger::policy_of_records",
        "steffle::node::policy::records",
        "steffle::node",
        "steffle::somewhere::else",
        "",
    ] {
        assert!(!keeps_words(code), "{code}");
    }
    let of_the_book = told(Refused::new("steffle::ledger::next_year", "7319"));
    assert!(of_the_book.text.contains("steffle ledger show"), "{of_the_book}");
}

/// Both ways: a code on the list that nobody has any more is a hole for the next of its name, and who makes
/// a new one has to decide about it.
#[test]
fn every_code_of_the_sources_was_decided_about() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut codes = BTreeSet::new();
    MADE.iter().for_each(|folder| written(&crates.join(folder), &mut codes));
    for code in WITH_WORDS {
        assert!(codes.contains(code), "{code} is in no source");
        assert!(keeps_words(code) && !WITHOUT_WORDS.contains(&code), "{code}");
    }
    for code in WITHOUT_WORDS {
        assert!(!keeps_words(code), "{code}");
    }
    let decided = |code: &&String| {
        let code = code.as_str();
        WITH_WORDS.contains(&code) || WITHOUT_WORDS.contains(&code)
    };
    let open: Vec<&String> = codes.iter().filter(|code| !decided(code)).collect();
    assert!(open.is_empty(), "with words, or without? {open:?}");
}

/// Which of two reasons it was told a server how far the records of one site reach.
#[test]
fn reasons_are_not_told_apart_once_a_masked_run_is_open() {
    let of = |code: &str, kind| unsaid(Refused::new(code, "it would cost mu 0.7319"), kind);
    let budget = of("steffle::ledger::budget", Kind::Release);
    for code in WITHOUT_WORDS {
        assert_eq!(of(code, Kind::Release), budget, "{code}");
        assert_eq!(of(code, Kind::Round), budget, "{code}");
    }
    // The question alone decides about these.
    assert_eq!(of(Refused::STATE, Kind::Release).code, Refused::STATE);
    assert_eq!(of("steffle::ledger::budget", Kind::Open).code, "steffle::ledger::budget");
}

/// The hash of a short reply can be guessed, and the numbers of a store's replies are its own.
#[test]
fn receipts_under_masks_are_blank_whatever_was_claimed() {
    use steffle_privacy::ledger::{Claim, Kind as Released, NoiseKind, Receipt};
    let offer = Offer {
        run: String::new(),
        method: "randomised-response".into(),
        mode: String::new(),
        notion: String::new(),
        rounds: 1,
        epsilon: 1.0,
        delta: 0.0,
        claim: Claim::Pure,
        noise: NoiseKind::Secure,
    };
    let receipt = Receipt {
        sequence: 41,
        grant: GrantId(7),
        request: [1; 32],
        fresh: 0,
        round: None,
        kind: Released::Classes,
        cost: Cost::Pure { epsilon: 1.0 },
        noise: NoiseKind::Secure,
        reply: [9; 32],
    };
    let closed = Closed { receipts: vec![receipt], spent: None };
    let told = told_at_the_end(closed, offer).unwrap();
    let found = &told.receipts[0];
    assert_eq!((found.sequence, found.grant, found.reply), (1, GrantId(0), [0; 32]));
}
