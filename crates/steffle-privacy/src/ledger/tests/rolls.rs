use super::*;

/// Keeps lines as a file would, in a vector.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    pub(super) lines: Vec<Line>,
    full: bool,
}

impl Backing for Lasting {
    const LASTS: bool = true;

    fn write(&mut self, line: &Line, _: Option<&[u8]>) -> Result<(), String> {
        if self.full {
            return Err("cannot be written: no space".into());
        }
        self.lines.push(line.clone());
        Ok(())
    }

    fn reply(&self, _: u64) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

pub(super) fn kept(epsilon: f64) -> Bookkeeper<Lasting> {
    let policy = pots::policy(epsilon, 1e-6, 0.0, 0.0);
    lasting(policy)
}

/// A ledger of its own columns.
pub(super) fn lasting(policy: Policy) -> Bookkeeper<Lasting> {
    let mut keeper = Bookkeeper::new(Book::new(policy).unwrap(), Lasting::default());
    keeper.name_columns(&owner::columns()).unwrap();
    keeper
}

pub(super) fn again(
    keeper: &Bookkeeper<Lasting>,
    epsilon: f64,
) -> Result<Bookkeeper<Lasting>, Refusal> {
    let policy = pots::policy(epsilon, 1e-6, 0.0, 0.0);
    let lines = keeper.backing().lines.clone();
    Bookkeeper::reopen(Book::new(policy).unwrap(), lines, Lasting::default())
}

pub(super) fn named(run: &str, epsilon: f64) -> CheckedOffer {
    let offer = offer_of(Claim::Gaussian, epsilon, 1e-6, NoiseKind::Secure);
    Offer { run: run.into(), ..offer }.check().unwrap()
}

pub(super) fn roll(ids: impl IntoIterator<Item = u64>) -> impl Fn() -> Roll {
    let ids: Vec<u64> = ids.into_iter().collect();
    move || Roll { ids: ids.clone(), units: Vec::new(), ..Roll::default() }
}

pub(super) fn spend(
    keeper: &mut Bookkeeper<Lasting>,
    run: &str,
    roll: &dyn Fn() -> Roll,
) -> GrantId {
    let offer = named(run, 1.0);
    let grant = keeper.open(&offer, Accounts::One, roll).unwrap();
    let cost = message(squared_of(&offer));
    let ticket = keeper.reserve(grant, entry(cost, Charge::All), NoiseKind::Secure).unwrap();
    keeper.commit(ticket, b"reply", [1; 32]).unwrap();
    keeper.close(grant).unwrap();
    grant
}

#[test]
fn whoever_joins_later_has_a_full_budget_and_the_others_keep_what_they_spent() {
    let mut keeper = kept(1.0);
    spend(&mut keeper, "first year", &roll(0..10));
    let offer = named("second year", 1.0);
    let all = keeper.open(&offer, Accounts::One, &roll(0..20));
    assert!(is_budget(&all, Pot::Gaussian), "{all:?}");
    // One known record among the new ones is enough.
    assert!(is_budget(&keeper.open(&offer, Accounts::One, &roll(9..20)), Pot::Gaussian));
    keeper.admit().unwrap();
    spend(&mut keeper, "those who joined", &roll(10..20));
    let third = keeper.open(&named("third", 0.01), Accounts::One, &roll(15..30));
    assert!(is_budget(&third, Pot::Gaussian));
    assert_eq!(keeper.book().people(), (20, 20));
    let balance = |roll| keeper.book().balance(roll).unwrap().gaussian.left;
    assert_eq!((balance(None), balance(Some(0))), (0.0, 0.0));
    assert!(keeper.book().balance_of_new().unwrap().gaussian.left > 0.2);
}

#[test]
fn every_unit_keeps_its_own_total_where_it_has_an_account() {
    let mut keeper = kept(1.0);
    let offer = named("a", 1.0);
    let share = 0.99 * squared_of(&offer);
    let grant = keeper.open(&offer, Accounts::Units(3), &roll([7, 8, 9])).unwrap();
    let costs = Charge::Units(vec![share, share / 4.0, 0.0]);
    let paid = entry(message(share), costs);
    let ticket = keeper.reserve(grant, paid, NoiseKind::Secure).unwrap();
    keeper.commit(ticket, b"reply", [1; 32]).unwrap();
    keeper.close(grant).unwrap();

    // The order of records is another, and each is found again; so it is after a restart.
    for mut keeper in [again(&keeper, 1.0).unwrap(), keeper] {
        let one = |keeper: &mut Bookkeeper<Lasting>, run: &str, id| {
            keeper.open(&named(run, 0.5), Accounts::One, &roll([id, id + 100])).map(drop)
        };
        assert!(is_budget(&one(&mut keeper, "b", 7), Pot::Gaussian));
        one(&mut keeper, "c", 8).unwrap();
        one(&mut keeper, "d", 9).unwrap();
        // Open grants are charged whole: 8 has a quarter spent and another open.
        let rest = keeper.open(&named("e", 0.9), Accounts::One, &roll([8]));
        assert!(is_budget(&rest, Pot::Gaussian), "{rest:?}");
    }
}

/// Epsilon, numbers and deltas of other pots are kept for every unit too.
#[test]
fn other_pots_are_kept_by_unit() {
    let policy = pots::policy(2.0, 1e-6, 0.5, 0.0);
    let mut keeper = lasting(policy);
    let grant = keeper.open(&pure(1.0), Accounts::One, &roll(0..5)).unwrap();
    keeper.close(grant).unwrap();
    assert!(is_budget(&keeper.open(&pure(0.1), Accounts::One, &roll(4..9)), Pot::Pure));
    keeper.admit().unwrap();
    keeper.open(&pure(1.0), Accounts::One, &roll(5..9)).unwrap();
}

#[test]
fn a_person_is_one_unit_for_life() {
    let people = |ids: &[u64], units: &[u32]| {
        let roll = Roll { ids: ids.to_vec(), units: units.to_vec(), ..Roll::default() };
        move || roll.clone()
    };
    let mut keeper = kept(1.0);
    spend(&mut keeper, "a", &people(&[1, 2, 3], &[0, 0, 1]));
    let mut refused = |roll: &dyn Fn() -> Roll, why: &str| {
        let refused = keeper.open(&named("b", 0.5), Accounts::One, roll).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    };
    refused(&people(&[1, 2, 3], &[0, 1, 2]), "one person are two units");
    refused(&people(&[1, 3], &[0, 0]), "two people are one unit");
    refused(&roll([1, 2]), "one person are two units");
    refused(&roll([4, 4]), "twice");
    refused(&people(&[4, 5], &[0]), "the unit of every record");
    // A new row of a known person joins what that person has spent.
    let more = keeper.open(&named("b", 0.5), Accounts::One, &people(&[10, 1], &[0, 0]));
    assert!(is_budget(&more, Pot::Gaussian));
    // What was refused is forgotten: the row is nobody's yet.
    let alone = keeper.open(&named("c", 0.5), Accounts::One, &roll([10]));
    assert!(matches!(alone, Err(Refusal::Strangers { .. })), "{alone:?}");
    // Accounts are of the units on the roll.
    let wrong = keeper.open(&named("d", 0.5), Accounts::Units(3), &roll([20, 21]));
    assert_eq!(wrong, Err(Refusal::Kind));
}

#[test]
fn a_named_run_goes_on_and_is_opened_once() {
    let mut keeper = kept(5.0);
    let offer = named("run", 1.0);
    let grant = keeper.open(&offer, Accounts::One, &roll(0..3)).unwrap();
    assert_eq!(keeper.open(&offer, Accounts::One, &roll(0..3)), Ok(grant));
    let mut keeper = again(&keeper, 5.0).unwrap();
    assert_eq!(keeper.open(&offer, Accounts::One, &roll(0..3)), Ok(grant));
    let reused = Err(Refusal::Run("run".into()));
    assert_eq!(keeper.open(&named("run", 2.0), Accounts::One, &roll(0..3)), reused);
    assert_eq!(keeper.open(&offer, Accounts::Blocks(2), &roll(0..3)), reused);
    assert_eq!(keeper.open(&offer, Accounts::One, &roll(0..4)), reused);
    let asked = entry(message(1e-3), Charge::All);
    let ticket = keeper.reserve(grant, asked.clone(), NoiseKind::Secure).unwrap();
    keeper.commit(ticket, b"noisy sums", [8; 32]).unwrap();
    let spent = keeper.spent(grant);
    keeper.close(grant).unwrap();
    assert_eq!(keeper.open(&offer, Accounts::One, &roll(0..3)), reused);
    // Who takes in again what was asked gets what was said, and nothing new; in other words, nothing.
    assert_eq!(keeper.take_up(&offer, Accounts::One, &roll(0..3), Ended::AskedAgain), Ok(grant));
    assert!(keeper.book().answered(grant, &asked.request).is_some());
    assert_eq!((keeper.spent(grant), keeper.receipts(grant).len()), (spent, 1));
    let other = Entry { request: [9; 32], ..asked };
    assert_eq!(keeper.reserve(grant, other, NoiseKind::Secure), Err(Refusal::Closed));
    assert_eq!(
        keeper.take_up(&named("run", 2.0), Accounts::One, &roll(0..3), Ended::AskedAgain),
        reused
    );
    assert_eq!(keeper.take_up(&offer, Accounts::One, &roll(0..4), Ended::AskedAgain), reused);
}

#[test]
fn runs_that_are_open_are_counted() {
    let policy = Policy { open_runs: 2, ..pots::policy(9.0, 1e-6, 0.0, 0.0) };
    let mut keeper = lasting(policy);
    let first = keeper.open(&named("a", 0.5), Accounts::One, &roll(0..3)).unwrap();
    keeper.open(&named("b", 0.5), Accounts::One, &roll(0..3)).unwrap();
    let third = keeper.open(&named("c", 0.5), Accounts::One, &roll(0..3)).unwrap_err();
    assert!(third.to_string().contains("2 run(s)") && third.to_string().contains("a, b"));
    keeper.close(first).unwrap();
    keeper.open(&named("c", 0.5), Accounts::One, &roll(0..3)).unwrap();
}

/// What was answered about some people is no answer about others.
#[test]
fn the_same_question_about_other_records_is_another_one() {
    let mut keeper = kept(5.0);
    let first = keeper.open(&named("a", 1.0), Accounts::One, &roll(0..3)).unwrap();
    let more = keeper.open(&named("b", 1.0), Accounts::One, &roll(0..4)).unwrap();
    let same = keeper.open(&named("c", 1.0), Accounts::One, &roll(0..3)).unwrap();
    let asked = entry(message(1e-3), Charge::All);
    let ticket = keeper.reserve(first, asked.clone(), NoiseKind::Secure).unwrap();
    keeper.commit(ticket, b"reply", [1; 32]).unwrap();
    let again = |keeper: &mut Bookkeeper<Lasting>, grant| {
        keeper.reserve(grant, asked.clone(), NoiseKind::Secure).map(|ticket| ticket.sequence())
    };
    assert_eq!(again(&mut keeper, same), Err(Refusal::Repeated));
    assert_eq!(again(&mut keeper, more), Ok(2));
}

#[test]
fn rounds_go_on() {
    let mut keeper = kept(5.0);
    let grant = keeper.open(&named("run", 5.0), Accounts::One, &roll(0..3)).unwrap();
    let mut round = |round| {
        let asked = Entry { round: Some(round), ..entry(message(1e-3), Charge::All) };
        let ticket = keeper.reserve(grant, asked, NoiseKind::Secure)?;
        keeper.commit(ticket, b"reply", [1; 32])
    };
    round(0).unwrap();
    round(1).unwrap();
    round(5).unwrap(); // a gap
    for back in [5, 4, 0] {
        assert_eq!(round(back), Err(Refusal::Round { asked: back, last: 5 }));
    }
    round(6).unwrap();
}

#[test]
fn a_reservation_that_was_left_over_is_used_once_more_for_the_same_entry() {
    let mut keeper = kept(1.0);
    let offer = named("run", 1.0);
    let grant = keeper.open(&offer, Accounts::One, &roll(0..3)).unwrap();
    let asked = entry(message(1e-3), Charge::All);
    drop(keeper.reserve(grant, asked.clone(), NoiseKind::Secure).unwrap());
    let lines = keeper.backing().lines.len();

    let mut after = again(&keeper, 1.0).unwrap();
    let spent = after.spent(grant);
    let dearer = Entry { cost: message(2e-3), ..asked.clone() };
    let other = after.reserve(grant, dearer, NoiseKind::Secure).unwrap();
    assert!(other.sequence() == 2 && after.spent(grant) != spent, "another entry pays");
    let spent = after.spent(grant);
    let same = after.reserve(grant, asked.clone(), NoiseKind::Secure).unwrap();
    assert_eq!((same.sequence(), after.spent(grant)), (1, spent));
    after.commit(same, b"reply", [1; 32]).unwrap();
    drop(other);
    assert_eq!(after.backing().lines.len(), 2, "one that pays, one commit");

    // After a torn line it stays spent, and the same entry pays again.
    let mut torn = keeper.backing().lines.clone();
    torn.push(Line::Torn { bytes: 17 });
    let book = Book::new(pots::policy(1.0, 1e-6, 0.0, 0.0)).unwrap();
    let mut after = Bookkeeper::reopen(book, torn, Lasting::default()).unwrap();
    let again = after.reserve(grant, asked, NoiseKind::Secure).unwrap();
    assert_eq!((again.sequence(), after.backing().lines.len()), (2, 1));
    assert_eq!(lines, 4, "columns, a roll, a grant, a reservation");
}

/// What could not be kept is not known to be kept or not: nothing happens after it.
#[test]
fn a_line_that_cannot_be_kept_stops_everything() {
    let mut keeper = kept(1.0);
    let grant = keeper.open(&named("run", 1.0), Accounts::One, &roll(0..3)).unwrap();
    let asked = || entry(message(1e-3), Charge::All);
    let ticket = keeper.reserve(grant, asked(), NoiseKind::Secure).unwrap();
    keeper.backing.full = true;
    let stopped = Err(Refusal::Stopped("cannot be written: no space".into()));
    assert_eq!(keeper.commit(ticket, b"reply", [1; 32]), stopped);
    keeper.backing.full = false;
    let stopped = Refusal::Stopped("cannot be written: no space".into());
    assert_eq!(keeper.reserve(grant, asked(), NoiseKind::Secure), Err(stopped.clone()));
    assert_eq!(keeper.close(grant), Err(stopped));
}

/// A book is read by the rules that it was written by.
#[test]
fn lines_that_break_the_rules_are_refused() {
    let mut keeper = kept(1.0);
    spend(&mut keeper, "run", &roll(0..3));
    let lines = keeper.backing().lines.clone();
    assert!(again(&keeper, 1.0).is_ok());
    assert!(is_budget(&again(&keeper, 0.9).map(drop), Pot::Gaussian));
    // But for the commit, which a crash may have kept from the book, and what stands last.
    // Nor the columns, which a ledger made before they were written does not have.
    for without in 1..lines.len() - 2 {
        let mut fewer = lines.clone();
        fewer.remove(without);
        let book = Book::new(pots::policy(1.0, 1e-6, 0.0, 0.0)).unwrap();
        let read = Bookkeeper::reopen(book, fewer, Lasting::default());
        assert!(read.is_err(), "without {:?}", lines[without]);
    }
    let text = serde_json::to_string(&lines).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Line>>(&text).unwrap(), lines);
}

/// A person whose records are all new is the person whom the column names, and has spent what that person
/// has. Before people were named, rows that differed from run to run were new people.
#[test]
fn a_person_with_other_records_in_every_run_is_one() {
    let mut people = super::super::roll::People::default();
    let of = |ids: &[u64], units: &[u32], named: &[u64]| Roll {
        ids: ids.to_vec(),
        units: units.to_vec(),
        people: named.to_vec(),
    };
    people.enrol(&of(&[1, 2, 3], &[0, 0, 1], &[70, 70, 71])).unwrap();
    // Other visits of both, and somebody new.
    people.enrol(&of(&[4, 5, 6], &[], &[71, 70, 72])).unwrap();
    assert_eq!(people.units(), 3);
    // Names that do not fit records or units are refused.
    for (ids, units, named) in [
        (&[1_u64, 7][..], &[][..], &[71_u64, 70][..]),
        (&[8, 9], &[0, 0], &[70, 71]),
        (&[8, 9], &[], &[70, 70]),
        (&[8, 9], &[], &[70]),
    ] {
        let refused = people.check(&of(ids, units, named));
        assert!(matches!(refused, Err(Refusal::Roll(_))), "{ids:?} {units:?} {named:?}");
    }
    assert_eq!(people.units(), 3);
}
