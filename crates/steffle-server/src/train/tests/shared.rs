//! Silos that share one noise in rounds: its size, and models that come of it.

use steffle_privacy::NoiseShares;
use steffle_privacy::ledger::Claim;
use steffle_wire::{Batch, CellQuestion, Form, Opening, Question, RowCap, Share, Terms};

use super::exact::exact;
use super::*;
use crate::server::Aggregate;

fn cuts(silos: usize, n: usize) -> Vec<Vec<usize>> {
    (0..silos).map(|silo| (0..n).filter(|id| id % silos == silo).collect()).collect()
}

/// A round at parameters that are sure of some and unsure of others.
fn round(people: &Population, silos: usize, shares: Option<NoiseShares>) -> Aggregate {
    let cuts = cuts(silos, people.labels.len());
    let notion = Notion::DemographicParity;
    let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
    let share = Share { round: 0.01, table: Share::TABLE };
    let claim = shares.map_or(Claim::Gaussian, Claim::Shared);
    let offer = federation.offer(claim, 1.0, 1e-6, 2).unwrap();
    let half = RowCap::quantile(0.5).unwrap();
    let opening = |offer| Opening {
        terms: Terms::Exact(share),
        cap: Some(half.share()),
        ..Opening::plain(offer)
    };
    federation.open(offer, opening).unwrap();
    let mut theta = vec![0.0; federation.model().parameters()];
    theta[..2].fill(3.0);
    if let Some(shares) = shares {
        let round = (share.round, share.table);
        federation.share_rounds(shares, round, (&theta, half, true)).unwrap();
    } else {
        // Caps are chosen in round 0.
        federation.round(0, &asked(theta.clone(), 0.0)).unwrap();
    }
    federation.round(1, &asked(theta, 1.0)).unwrap()
}

fn asked(theta: Vec<f64>, size: f64) -> Question {
    let combinations = vec![size, 0.0, 0.0, size];
    let cells = vec![CellQuestion { combinations, quadratic: vec![0.0; 2] }];
    Question { theta, cells, form: Form::Centred, batch: Batch::All, loss: false }
}

/// With no colluder the total of many silos has the noise of one silo with all records, with c of N the
/// N/(N - c)-fold variance; without shares N times as much. (A cap is the mean of the silos' quantiles,
/// which differs from the quantile of all by a few per cent.)
#[test]
fn shared_noise_is_that_of_one_silo() {
    let people = Population::new(900, 2, 2);
    let one = round(&people, 1, None);
    for (silos, colluders) in [(3, 0), (3, 1), (9, 0), (9, 4)] {
        let shares = NoiseShares::new(silos, colluders).unwrap();
        let more = f64::from(silos) / f64::from(shares.honest());
        let once = round(&people, silos as usize, Some(shares));
        let theta = once.theta_variance / one.theta_variance;
        assert!((theta / more - 1.0).abs() < 0.1, "{silos} {colluders}: {theta}");
        let table = once.cells[0].table_variance / one.cells[0].table_variance;
        assert!((table / more - 1.0).abs() < 0.1, "{silos} {colluders}: {table}");
    }
    let each = round(&people, 9, None).theta_variance / one.theta_variance;
    assert!((each / 9.0 - 1.0).abs() < 0.1, "{each}");
}

/// Everything is paid for within the plan, and models go where those without noise go.
#[test]
fn shared_noise_leads_where_none_does() {
    for (k, l, notion, kind) in [
        (2, 2, Notion::DemographicParity, ModelKind::Logistic),
        (2, 2, Notion::AccuracyParity, ModelKind::Logistic),
        (3, 2, Notion::EqualizedOdds { labels: 2 }, ModelKind::Logistic),
        (3, 3, Notion::DemographicParity, ModelKind::Softmax),
    ] {
        let people = Population::new(900, k, l);
        let shares = NoiseShares::new(4, 1).ok();
        let trained = |mode: Mode| {
            let mut federation = people.silos(&kind, notion, &cuts(4, 900));
            let settings = Settings { length: Length::Rounds(8), ..settings(mode) };
            let outcome = run(&mut federation, people.objective(notion), &settings);
            (outcome.theta, outcome.statement, outcome.spent)
        };
        let (aim, ..) = trained(Mode::None);
        let far = [1e1, 1e3, 1e5].map(|epsilon| {
            let exact = Exact { shares, by_record: epsilon < 50.0, ..exact(epsilon) };
            let (theta, said, spent) = trained(Mode::Exact(exact));
            let said = said.unwrap();
            assert!(said.shares == shares && said.holds, "{said:?}");
            assert!(said.epsilon_alone > said.epsilon && spent.is_some(), "{said:?}");
            aim.iter().zip(&theta).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        });
        let size = aim.iter().map(|a| a * a).sum::<f64>().sqrt();
        assert!(far[1] < far[0] && far[2] < 0.03 * size, "{k} {l} {notion:?}: {far:?} of {size}");
    }
}
