//! How a model decides about the records of a node, by label, class and decision.

use steffle_attributes::Decided;
use steffle_model::metrics::decide;
use steffle_model::model::Point;
use steffle_wire::{
    Answer, Count, CountReply, Decisions, Done, Envelope, Kind, PublicCounts, Refused,
};

use super::party::Party;
use crate::division::Who;
use crate::division::records::RecordsDivision;

impl Party {
    /// Counts decisions: exactly where `s` is not involved, with noise where it is.
    pub(super) fn count(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        asked: &Count,
    ) -> Result<Answer, Refused> {
        let mut source = self.source(envelope.round)?;
        if self.holds_attributes_alone() {
            let silos = self.silos();
            let (told, said) =
                self.letters().take::<Decisions>(Kind::Count, envelope.round, silos)?;
            let parts: Vec<&[u8]> =
                [payload].into_iter().chain(said.iter().map(Vec::as_slice)).collect();
            let request = self.name(0, &parts);
            let decided: Vec<Decided<'_>> = told.iter().map(by_id).collect();
            let released = self.attributes()?.count(&decided, request, &mut source)?;
            let private = Some(released.summed(self.join.holders as usize)?);
            let mut reply = CountReply { public: None, private };
            return Ok(self.answer_with(envelope, &mut reply, None::<&Done>));
        }
        let request = self.name(0, &[payload]);
        let decisions = decisions(self.records()?, &asked.theta)?;
        let sites = self.join.silos as usize;
        let public = Some(self.part(&public(&decisions))?);
        let Some((_, attributes)) = self.both() else {
            let mut reply = CountReply { public, private: None };
            return Ok(self.answer_with(envelope, &mut reply, Some(&decisions)));
        };
        let positions: Vec<u32> = (0..decisions.ids.len() as u32).collect();
        let decided = Decided { who: Who::Positions(&positions), ..by_id(&decisions) };
        let released = attributes.count(&[decided], request, &mut source)?;
        let mut reply = CountReply { public, private: Some(released.summed(sites)?) };
        Ok(self.answer_with(envelope, &mut reply, None::<&Done>))
    }
}

fn by_id(told: &Decisions) -> Decided<'_> {
    Decided {
        who: Who::Ids(&told.ids, 0),
        cells: told.cells,
        cell_of: &told.cell_of,
        columns: told.columns,
        decided: &told.decided,
    }
}

/// What the model at theta decides about every record; a record's cell is its label. Refuses another
/// number of parameters, and one that is no number.
fn decisions(division: &RecordsDivision, theta: &[f64]) -> Result<Decisions, Refused> {
    let (model, records) = (division.model(), division.records());
    if theta.len() != model.parameters() || !theta.iter().all(|number| number.is_finite()) {
        return Err(Refused::state("a model of another size, or with a number that is not finite"));
    }
    let labels = model.labels() as u16;
    let probabilities = Point::new(model, theta).probabilities(records.rows());
    Ok(Decisions {
        ids: records.ids().to_vec(),
        cells: labels,
        cell_of: records.labels().to_vec(),
        columns: labels,
        decided: decide(&probabilities, model.labels()),
    })
}

fn public(decisions: &Decisions) -> PublicCounts {
    let columns = usize::from(decisions.columns);
    let mut counts = vec![0.0; usize::from(decisions.cells) * columns];
    for (&cell, &decision) in decisions.cell_of.iter().zip(&decisions.decided) {
        counts[usize::from(cell) * columns + usize::from(decision)] += 1.0;
    }
    PublicCounts { counts }
}
