//! A process that is killed at any durable step goes on when it is started again: the same bytes, paid for
//! once, one reply under one mask.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use steffle_masks::{Backing, Hash, Identity, Journal, Line, Roster as Keys, Secret};
use steffle_privacy::ledger::{self, Book, Bookkeeper, Policy};

use steffle_server::federation::{Gathered, Roster};
use steffle_wire::MaskTerms;

use super::masks::{Shared, houses, sites};
use super::shared_rounds::{agree, rounds, shares};
use super::*;

/// What a killed process leaves behind.
struct Killed;

/// When a process is killed: at the step with which its count is at its end, before or after it.
#[derive(Clone, Default)]
pub(super) struct Fate {
    left: Arc<AtomicUsize>,
    after: bool,
}

impl Fate {
    fn step<T>(&self, act: impl FnOnce() -> T) -> T {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 && !self.after {
            resume_unwind(Box::new(Killed));
        }
        let done = act();
        if left == 1 {
            resume_unwind(Box::new(Killed));
        }
        done
    }
}

/// The journal of masks of a process that can be killed.
struct Masks(Shared, Fate);

impl Backing for Masks {
    fn write(&mut self, line: &Line) -> Result<(), String> {
        self.1.step(|| self.0.write(line))
    }

    fn secret(&self) -> Option<Secret> {
        self.0.secret()
    }

    fn keep(&mut self, secret: Option<&Secret>) -> Result<(), String> {
        self.1.step(|| self.0.keep(secret))
    }

    fn fresh(&mut self, begins: &Hash) -> Option<Secret> {
        self.0.fresh(begins)
    }

    fn records(&self, epoch: u32) -> Option<Vec<u64>> {
        self.0.records(epoch)
    }

    fn keep_records(&mut self, epoch: u32, records: &[u64]) -> Result<(), String> {
        self.1.step(|| self.0.keep_records(epoch, records))
    }
}

/// The lines and replies of a book.
pub(super) type Lines = Arc<Mutex<(Vec<ledger::Line>, BTreeMap<u64, Vec<u8>>)>>;

/// The book of the same process.
#[derive(Clone, Default)]
pub(super) struct Paid(Lines, Fate);

impl ledger::Backing for Paid {
    const LASTS: bool = true;

    fn write(&mut self, line: &ledger::Line, reply: Option<&[u8]>) -> Result<(), String> {
        self.1.step(|| {
            let (lines, replies) = &mut *self.0.lock().unwrap();
            lines.push(line.clone());
            if let (ledger::Line::Commit { reservation, .. }, Some(reply)) = (line, reply) {
                replies.insert(*reservation, reply.to_vec());
            }
            Ok(())
        })
    }

    fn reply(&self, reservation: u64) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().1.get(&reservation).cloned())
    }
}

/// The keys of three sites, by the number that they are made of.
pub(super) const KEYS: [u8; 3] = [1, 2, 3];

/// A process of a site, with what it finds of those before it; its owner accepts the roster of these keys.
pub(super) fn started(place: u8, kept: &Shared, paid: &Paid, keys: [u8; 3]) -> Node {
    let policy = Policy { epsilon_alone: Some(9.0), simulations: true, ..Policy::of(3.0, 1e-6) };
    let lines = {
        let (lines, _) = &mut *paid.0.lock().unwrap();
        if lines.is_empty() {
            let columns = ledger::StoreColumns::new(["s"], ["a", "b"], "record_id", None);
            lines.push(ledger::Line::Columns(columns.unwrap()));
        }
        lines.clone()
    };
    let book = Bookkeeper::reopen(Book::new(policy).unwrap(), lines, paid.clone()).unwrap();
    let identity = |place: u8| Identity::new(&[keys[usize::from(place)]; 32]);
    let all = (0..3).map(|place| (identity(place).fingerprint(), format!("site {place}")));
    let roster = Keys::new(all).unwrap();
    let lines = kept.0.lock().unwrap().0.clone();
    let mut journal = Journal::new(lines, Box::new(Masks(kept.clone(), paid.1.clone())));
    if journal.roster().is_some_and(|known| known != roster.digest()) {
        journal.accept(roster.digest()).unwrap();
    }
    let masking = Masking::new(identity(place), roster, MaskPolicy::default(), journal);
    houses(3).remove(place.into()).keeping(Box::new(book)).masking(masking)
}

/// Three sites, the second of which is killed once; what it answered it takes in again.
struct Frail {
    others: InProcess,
    node: Node,
    kept: Shared,
    paid: Paid,
    heard: Vec<(Vec<u8>, Answer)>,
    deaths: usize,
    /// Noise from a seed is in no book that lasts.
    forgets: bool,
}

impl Frail {
    fn new(fate: Fate, noise: NoiseKind) -> Self {
        let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
        let others = sites(3, &MaskPolicy::default(), &kept);
        let (kept, paid) = (kept[1].clone(), Paid(Lines::default(), fate));
        let node = started(1, &kept, &paid, KEYS);
        Self {
            others,
            node,
            kept,
            paid,
            heard: Vec::new(),
            deaths: 0,
            forgets: noise == NoiseKind::Simulation,
        }
    }

    fn handle(&mut self, message: &[u8]) -> Vec<u8> {
        loop {
            let node = &mut self.node;
            match catch_unwind(AssertUnwindSafe(|| node.handle(NodeId::SERVER, message))) {
                Ok(answer) => {
                    self.heard.push((message.to_vec(), answer.clone()));
                    return answer.reply;
                }
                Err(why) if why.is::<Killed>() => {
                    self.deaths += 1;
                    if self.forgets {
                        *self.paid.0.lock().unwrap() = Default::default();
                    }
                    self.node = started(1, &self.kept, &self.paid, KEYS);
                    for (message, answer) in &self.heard {
                        assert_eq!(self.node.take_in_again(NodeId::SERVER, message), *answer);
                    }
                }
                Err(why) => resume_unwind(why),
            }
        }
    }
}

impl Transport for Frail {
    fn nodes(&self) -> usize {
        3
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let mut ask = |(node, bytes): &(NodeId, &[u8])| {
            if *node == NodeId::at(1) {
                return Ok(self.handle(bytes));
            }
            self.others.exchange(&[(*node, bytes)]).remove(0)
        };
        requests.iter().map(&mut ask).collect()
    }
}

/// Sites that have joined under masks, with noise from a seed or secret.
pub(super) fn joined_with<T: Transport>(
    nodes: T,
    noise: NoiseKind,
    colluders: u16,
) -> Federation<T> {
    let agreement = Agreement { noise, ..agreement() };
    let masked = Some(MaskTerms { colluders, noise, shared: Some(1) });
    let roster = Roster { masked, ..Roster::default() };
    Gathered::new(nodes, agreement.run, roster).unwrap().join(agreement).unwrap()
}

/// What a run gave, what was paid for, and how many durable steps it took.
fn run(at: usize, after: bool, noise: NoiseKind) -> (Vec<String>, usize, usize) {
    let fate = Fate { left: Arc::new(AtomicUsize::new(at)), after };
    let mut federation = joined_with(Frail::new(fate, noise), noise, 1);
    agree(&mut federation, shares(3)).unwrap();
    let mut said = rounds(&mut federation).unwrap();
    federation.close().unwrap();
    said.push(format!("{:?}", federation.spent()));
    let Frail { kept, paid, deaths, .. } = federation.into_transport();
    let answers: Vec<u64> = kept
        .0
        .lock()
        .unwrap()
        .0
        .iter()
        .filter_map(
            |line| if let Line::Answer { sequence, .. } = line { Some(*sequence) } else { None },
        )
        .collect();
    let numbers: BTreeSet<u64> = answers.iter().copied().collect();
    assert_eq!(numbers.len(), answers.len(), "one number, one reply");
    let (lines, replies) = &*paid.0.lock().unwrap();
    let reserved = |line: &&ledger::Line| matches!(line, ledger::Line::Reserve { .. });
    if noise == NoiseKind::Secure {
        assert_eq!(lines.iter().filter(reserved).count(), replies.len(), "paid for once");
        // Noise that nobody has twice: what is compared is what was paid.
        said = vec![format!("{} replies, {:?}", replies.len(), said.pop())];
    }
    let left = paid.1.left.load(Ordering::Relaxed);
    assert_eq!(deaths, usize::from(left == 0));
    (said, answers.len(), at - left)
}

/// The journal's lines, its secret, digests of records, the book's reservations and commits, one after the
/// other, each killed before it and after it: after the last of a request there is only sending.
#[test]
fn a_process_killed_at_any_durable_step_says_the_same_and_pays_once() {
    const LONG: usize = 10_000;
    for noise in [NoiseKind::Simulation, NoiseKind::Secure] {
        let (said, answers, steps) = run(LONG, false, noise);
        assert!(steps >= 25, "{steps}");
        // The last steps are those of closing: the book's line, and the journal's.
        for (at, after) in (1..=steps).flat_map(|at| [(at, false), (at, true)]) {
            let (again, masked, _) = run(at, after, noise);
            assert_eq!((again, masked), (said.clone(), answers), "step {at}, {after}");
        }
    }
}
