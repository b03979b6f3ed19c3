//! A server whose offer has allowed words, and whose requests are for something else.

use steffle_server::federation::FederationError;

use super::*;

/// A site that allows one-shot runs of four rounds at most, asked by a server that says so.
fn opened(method: &str, notion: &str, rounds: u32) -> Result<Federation<InProcess>, String> {
    let allows = Allows {
        methods: vec!["one-shot".to_owned(), "steffle".to_owned()],
        rounds: Some(4),
        ..Allows::default()
    };
    let nodes = InProcess::new(house()).each(|node| node.allowing(allows.clone()));
    let words = |word: &str| word.to_owned();
    let kind = RunKind { method: words(method), mode: words("exact"), notion: words(notion) };
    let mut federation = Federation::join(nodes, Agreement { kind, ..agreement() }).unwrap();
    let offer = federation.offer(Claim::Gaussian, 5.0, 1e-6, rounds).unwrap();
    let share = steffle_wire::Share { round: 1e-4, table: 0.15 };
    let terms = steffle_wire::Terms::Exact(share);
    let opened = federation.open(offer, |offer| Opening { terms, ..Opening::plain(offer) });
    opened.map_err(|error| error.to_string())?;
    Ok(federation)
}

fn ask(federation: &mut Federation<InProcess>, round: u32) -> Result<(), FederationError> {
    federation.round(round, &question(0.1 * f64::from(round), Batch::All)).map(drop)
}

#[test]
fn rounds_of_another_method_are_refused() {
    let mut federation = opened("one-shot", "demographic-parity", 1).unwrap();
    let refused = ask(&mut federation, 0).unwrap_err().to_string();
    assert!(refused.contains("method one-shot releases no sums of a round"), "{refused}");
    ask(&mut opened("steffle", "demographic-parity", 1).unwrap(), 0).unwrap();
}

#[test]
fn more_rounds_than_were_offered_are_refused() {
    let mut federation = opened("steffle", "demographic-parity", 2).unwrap();
    for round in 0..=2 {
        ask(&mut federation, round).unwrap();
    }
    let refused = ask(&mut federation, 3).unwrap_err().to_string();
    assert!(refused.contains("round 3 is asked for; the run was opened for 2"), "{refused}");
}

#[test]
fn another_notion_than_the_offer_names_is_refused() {
    let refused = opened("steffle", "equalized-odds", 2).err().unwrap();
    assert!(refused.contains("says notion equalized-odds"), "{refused}");
    assert!(refused.contains("about demographic-parity"), "{refused}");
}

/// What claims nothing says no number of rounds; the site's own limit holds.
#[test]
fn the_sites_own_limit_counts_rounds_that_are_asked() {
    let allows = Allows { rounds: Some(1), ..Allows::default() };
    let nodes = InProcess::new(house()).each(|node| node.allowing(allows.clone()));
    let mut federation = Federation::join(nodes, agreement()).unwrap();
    federation.open_plainly().unwrap();
    ask(&mut federation, 0).unwrap();
    ask(&mut federation, 1).unwrap();
    let refused = ask(&mut federation, 2).unwrap_err().to_string();
    assert!(refused.contains("at most 1 in one run"), "{refused}");
}
