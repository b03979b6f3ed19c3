//! What records divisions elsewhere handed over: checked, visited and measured, never believed.

use steffle_model::model::{Block, Coefficients};
use steffle_model::scores::Candidates;
use steffle_wire::{Handover, Question};

use super::lattice::{Centred, Sizes, power_above};
use super::{AttributesDivisionError, PriceError, bounds};

/// The layers that all handovers describe; refuses handovers that do not fit the question.
pub(super) fn fitting<'a>(
    question: &Question,
    handovers: &'a [Handover],
    classes: usize,
) -> Result<&'a [Block], AttributesDivisionError> {
    let (cells, columns) = (question.cells.len(), question.columns());
    question.check(question.theta.len(), cells, classes, columns)?;
    let refuse = |what| Err(AttributesDivisionError::Handover(what));
    let Some(first) = handovers.first() else {
        return refuse("there is none");
    };
    let blocks = first.blocks();
    if blocks.iter().map(Block::parameters).sum::<usize>() != question.theta.len() {
        return refuse("its layers do not make up theta");
    }
    for handover in handovers {
        if handover.blocks() != blocks {
            return refuse("two handovers describe different models");
        }
        handover.fits(cells, columns).map_err(AttributesDivisionError::Handover)?;
    }
    Ok(blocks)
}

/// Visits the candidates of all handovers, numbered through.
pub(super) fn each_candidates(handovers: &[Handover], mut visit: impl FnMut(&Candidates<'_>)) {
    let mut first = 0;
    // A handover about nobody adds nothing, and need not have a question's shape.
    for handover in handovers.iter().filter(|handover| !handover.is_empty()) {
        let factors = handover.factors();
        visit(&handover.candidates(&factors, first));
        first += handover.len();
    }
}

/// The sizes of what was handed over, found by looking: no bound that came with it is believed.
pub(super) fn sizes(centred: &Centred, handovers: &[Handover]) -> Result<Sizes, PriceError> {
    /// Larger slopes would leave the range of a double in the end.
    const LARGEST: f64 = 1e99;
    let too_large = PriceError::Bound("slopes or scores larger than 1e99");
    let (mut coefficient, mut score, mut reach, mut records) = (0.0_f64, 0.0_f64, 0_u64, 0);
    let mut inside = true;
    let mut see = |value: f64, most: &mut f64| {
        inside &= value.abs() <= LARGEST;
        *most = most.max(value.abs());
    };
    let mut room = Coefficients::default();
    for handover in handovers {
        reach += bounds::reach(handover.rows())?;
        records += handover.len();
    }
    each_candidates(handovers, |chunk| {
        let none = centred.cells as u32;
        let cells: Vec<u32> = chunk.cells.iter().map(|&cell| u32::from(cell).min(none)).collect();
        for table in &centred.tables {
            room.fill(chunk.factors, &cells, table, centred.columns, None);
            for (values, factor) in room.layers().iter().zip(chunk.factors) {
                let width = factor.block.outputs;
                for (record, values) in values.chunks_exact(width).enumerate() {
                    let cap = chunk.caps.get(record).copied().unwrap_or(1.0);
                    values.iter().for_each(|value| see(value * cap, &mut coefficient));
                }
            }
        }
        chunk.scores.iter().for_each(|&value| see(value, &mut score));
    });
    if !inside {
        return Err(too_large);
    }
    Ok(Sizes { coefficient, score: power_above(score), reach, records })
}
