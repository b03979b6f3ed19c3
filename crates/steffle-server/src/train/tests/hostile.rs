//! Nodes that lie: whatever they reply, a run ends with a model or a message, never with a panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use steffle_model::randomness::ChaCha8Rng;
use steffle_wire::{ClassRelease, Lost, NodeId, Transport, payload};

use super::*;
use crate::federation::Pooling;

/// Runs of the test.
const RUNS: u64 = 75_000;

/// Nodes behind somebody who damages some of what they reply.
struct Liar {
    nodes: InProcess,
    random: ChaCha8Rng,
    count: Arc<Count>,
    /// Bodies of replies that were sent before.
    bodies: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Count {
    damaged: AtomicU64,
    /// Of these the ones whose envelope is whole.
    inside: AtomicU64,
    finished: AtomicU64,
}

impl Transport for Liar {
    fn nodes(&self) -> usize {
        self.nodes.nodes()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let mut replies = self.nodes.exchange(requests);
        for reply in replies.iter_mut().flatten() {
            let body = payload(reply).to_vec();
            // Replies without a body say little.
            let one_in = if body.is_empty() { 60 } else { 6 };
            if self.random.next_u32().is_multiple_of(one_in) {
                let inside = !body.is_empty() && !self.random.next_u32().is_multiple_of(5);
                self.count.damaged.fetch_add(1, Relaxed);
                self.count.inside.fetch_add(u64::from(inside), Relaxed);
                self.damage(reply, if inside { reply.len() - body.len() } else { 0 });
            }
            self.bodies.push(body);
        }
        replies
    }
}

impl Liar {
    fn damage(&mut self, bytes: &mut Vec<u8>, from: usize) {
        let random = &mut self.random;
        let at = from + random.next_u32() as usize % (bytes.len() - from).max(1);
        let end = (at + 16).min(bytes.len());
        match random.next_u32() % 8 {
            0 => bytes[at] ^= 1 << (random.next_u32() % 8),
            1 => bytes[at] = random.next_u32() as u8,
            2 => bytes[at..end].fill(0xff),
            3 => bytes[at..end].fill(0),
            4 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.next_u32() as u8),
            5 => bytes.truncate(at),
            // A body that is whole, and the answer to another question.
            _ => {
                let other = random.next_u32() as usize % self.bodies.len().max(1);
                bytes.truncate(from);
                bytes.extend(self.bodies.get(other).into_iter().flatten());
            }
        }
    }
}

/// One run of some method, in some layout, over nodes that lie.
fn run_with_liars(number: u64, people: &Population, count: &Arc<Count>) -> Result<(), String> {
    let (notion, kind) = match number % 3 {
        0 => (Notion::EqualizedOdds { labels: 2 }, ModelKind::Logistic),
        1 => (Notion::DemographicParity, ModelKind::Softmax),
        _ => (Notion::DemographicParity, ModelKind::Logistic),
    };
    let ids: Vec<usize> = (0..people.labels.len()).collect();
    let cuts = match number % 5 {
        0 => vec![ids.clone()],
        _ => vec![ids[..25].to_vec(), ids[25..].to_vec()],
    };
    let records = cuts.iter().map(|ids| people.records(ids));
    let nodes = if number.is_multiple_of(7) {
        InProcess::split(records, [people.attributes(&ids)])
    } else {
        InProcess::silos(records.zip(cuts.iter().map(|ids| people.attributes(ids))))
    };
    let random = stream(number, 0, Purpose::Split, 0);
    let liar = Liar { nodes, random, count: count.clone(), bodies: Vec::new() };
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let mut federation =
        Federation::join(liar, people.agreement(&kind, notion)).map_err(|e| told(&e))?;
    let zeros = vec![0.0; federation.model().parameters()];
    let tolerance = Tolerance { evaluations: 12, gradient: 1e-6 };
    let rule = if number.is_multiple_of(2) { FitRule::FewTrips } else { FitRule::Gradients };
    match number % 4 {
        0 => {
            let settings = Settings { length: Length::Rounds(3), ..settings(Mode::None) };
            let plan = settings.check(federation.sizes()).map_err(|e| told(&e))?;
            let objective = people.objective(notion);
            train(&plan, objective, &mut federation, zeros.into(), go_on).map_err(|e| told(&e))?;
        }
        1 => {
            let go_on = |_, _| ControlFlow::Continue(());
            erm(&mut federation, zeros, rule, tolerance, go_on).map_err(|e| told(&e))?;
        }
        2 => {
            let go_on = |_, _| ControlFlow::Continue(());
            federation.impute(ClassRelease::Revealed).map_err(|e| told(&e))?;
            let public =
                erm(&mut federation, zeros, rule, tolerance, go_on).map_err(|e| told(&e))?;
            let objective = people.objective(notion);
            let mut path = FairPath::new(&mut federation, objective, &public, 0.0, tolerance);
            path.solve(2.0, go_on).map_err(|e| told(&e))?;
        }
        _ => {
            let pooling = match number % 8 {
                3 => Pooling::Local,
                _ => Pooling::Pooled { secure_aggregation: true, shares: None },
            };
            let release = federation.release_once(pooling, None).map_err(|e| told(&e))?;
            let theta = vec![0.1; zeros.len()];
            federation.estimate_gap_after(&release, &zeros, &theta).map_err(|e| told(&e))?;
        }
    }
    Ok(())
}

#[test]
fn no_reply_ends_a_server() {
    let people = Population::new(60, 2, 2);
    let count = Arc::new(Count::default());
    (0..RUNS).into_par_iter().for_each(|number| match run_with_liars(number, &people, &count) {
        Ok(()) => _ = count.finished.fetch_add(1, Relaxed),
        Err(message) => assert!(!message.is_empty()),
    });
    let of = |number: &AtomicU64| number.load(Relaxed);
    let (damaged, inside) = (of(&count.damaged), of(&count.inside));
    println!(
        "{damaged} damaged replies, {inside} inside; {} of {RUNS} finished",
        of(&count.finished)
    );
    assert!(damaged >= 100_000 && 2 * inside > damaged, "{inside} of {damaged}");
    assert!(of(&count.finished) > 0);
}
