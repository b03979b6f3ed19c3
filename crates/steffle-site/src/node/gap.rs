//! What a silo's part of a release tells about decisions: post-processing, free.

use steffle_attributes::Capped;
use steffle_model::decode::{Correction, Energy, Evidence};
use steffle_model::metrics::decide;
use steffle_model::model::Point;
use steffle_wire::{Gap, GapCell, GapSums, Refused, Told};

use super::once::Ready;
use super::party::Party;
use crate::division::records::RecordsDivision;

impl Party {
    /// What the release tells about the decisions of these models.
    pub(super) fn gap(&mut self, asked: &Gap) -> Result<GapSums, Refused> {
        let (classes, notion) = (self.classes(), self.join.scores.notion);
        let (pools, unfinished) = (self.pools(), f64::from(u8::from(self.once.unfinished)));
        let message = self.once.message.clone();
        if message.is_none() && !self.once.shared {
            return Err(Refused::state("nothing was released"));
        }
        let ready = self.ready()?;
        let Ready { capped, moments } = &*ready;
        let division = &*self.records()?;
        let model = division.model();
        if asked.thetas.iter().any(|theta| theta.len() != model.parameters()) {
            return Err(Refused::state("a model of another size"));
        }
        let expected = expected(division, capped, classes);
        let rows = division.records().rows();
        let told = |theta: &Vec<f64>| {
            let decisions = decide(&Point::new(model, theta).probabilities(rows), model.labels());
            let outcome = |(&decision, &label)| notion.outcome(decision, label);
            let outcomes: Vec<usize> =
                decisions.iter().zip(division.records().labels()).map(outcome).collect();
            cells(division, capped, &outcomes)
        };
        let mut models: Vec<Vec<GapCell>> = asked.thetas.iter().map(told).collect();
        if pools {
            return Ok(GapSums { models, expected, energy: None, messages: 0.0, unfinished });
        }
        let Some(message) = message else { return Err(Refused::state("nothing was released")) };
        // The silo's own message: nothing of the size of the features leaves it.
        let several = asked.thetas.len() > 1;
        if !several {
            let evidence = Evidence::of(moments, &message)?;
            models.iter_mut().flatten().for_each(|cell| cell.tell(&evidence));
        }
        let correction = Correction::new(moments, &message)?;
        for cell in models.iter_mut().flatten() {
            cell.correct(&correction, &expected);
            cell.numbers.clear();
        }
        let energy = several.then(|| Energy::of(moments, &message)).transpose()?;
        let messages = f64::from(u8::from(several));
        Ok(GapSums { models, expected: Vec::new(), energy, messages, unfinished })
    }
}

/// `sum_i shat_ir scale_i f_i` of the classes that a message has.
fn expected(division: &RecordsDivision, capped: &Capped<'_>, classes: usize) -> Vec<Vec<f64>> {
    let scales = capped.scales();
    let sent = if classes == 2 { 1..2 } else { 0..classes };
    sent.map(|class| {
        let own: Vec<f64> = match division.imputed() {
            Some(imputed) => {
                let own = (0..scales.len()).map(|record| imputed.of(record)[class]);
                own.zip(&scales).map(|(membership, scale)| membership * scale).collect()
            }
            None => vec![0.0; scales.len()],
        };
        capped.features().sum(&own)
    })
    .collect()
}

fn cells(division: &RecordsDivision, capped: &Capped<'_>, outcomes: &[usize]) -> Vec<GapCell> {
    let labels = division.objective().columns();
    let scales = capped.scales();
    let classes = division.objective().classes();
    let equal = vec![1.0 / classes as f64; classes];
    let of = |record: usize| division.imputed().map_or(&equal[..], |imputed| imputed.of(record));
    let all = || (0..).zip(division.cells());
    (0..division.objective().cells())
        .map(|cell| {
            let own = all().filter(|(_, own)| usize::from(**own) == cell);
            let members: &Vec<u32> = &own.map(|(record, _)| record).collect();
            let n = members.len() as f64;
            let mut counts = vec![0.0; labels];
            let mut masses = vec![0.0; classes];
            for &record in members {
                counts[outcomes[record as usize]] += 1.0;
                let own = masses.iter_mut().zip(of(record as usize));
                own.for_each(|(mass, membership)| *mass += membership);
            }
            let rates: Vec<f64> = counts.iter().map(|count| count / n.max(1.0)).collect();
            let mut covariances = vec![0.0; classes * labels];
            let mut numbers = Vec::with_capacity(labels);
            for (label, rate) in rates.iter().enumerate() {
                let mut centred = vec![0.0; scales.len()];
                for &record in members {
                    let record = record as usize;
                    let decided = f64::from(u8::from(outcomes[record] == label));
                    centred[record] = (decided - rate) * scales[record];
                    for (class, membership) in of(record).iter().enumerate() {
                        covariances[class * labels + label] += membership * (decided - rate);
                    }
                }
                numbers.push(capped.features().sum(&centred));
            }
            let (variances, told) = (vec![0.0; labels], Told::default());
            GapCell { records: n, rates, masses, covariances, numbers, variances, told }
        })
        .collect()
}
