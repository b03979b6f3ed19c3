//! What a question is measured on, before it is priced.

use steffle_model::decode::RoundScale;
use steffle_model::model::Block;
use steffle_model::scores::Candidates;
use steffle_wire::{Form, Question};

use crate::lattice::{Centred, Lattice, Sizes};
use crate::measured::{MeasureRoom, Measuring};
use crate::room::Room;
use crate::sums::AskedForm;
use crate::{Combinations, PriceError, bounds};

/// A question that can be measured: what is summed under each class, on which grid.
pub struct Asked(pub(super) AskedForm);

impl Asked {
    /// A question about centred sums of integers; refuses what is outside of the bounds.
    pub fn on_lattice(
        question: &Question,
        blocks: &[Block],
        classes: usize,
        sizes: impl FnOnce(&Centred) -> Result<Sizes, PriceError>,
    ) -> Result<Self, PriceError> {
        let centred = centred(question, blocks, classes)?;
        let lattice = Lattice::new(sizes(&centred)?, classes)?;
        Ok(Self(AskedForm::Centred(centred, Some(lattice))))
    }

    /// One about integers on the grids that all sites agreed on, with coefficients of so many bits;
    /// refuses a model of several layers, whose candidates have no common bound.
    pub fn on_shared_lattice(
        question: &Question,
        blocks: &[Block],
        classes: usize,
        (scale, bits): (&RoundScale, u8),
        sizes: impl FnOnce(&Centred) -> Result<Sizes, PriceError>,
    ) -> Result<Self, PriceError> {
        let centred = centred(question, blocks, classes)?;
        if blocks.len() != 1 || centred.silent() != scale.theta.is_none() {
            return Err(PriceError::Bound(
                "shares of noise for several layers, or for another theta message than it asks for",
            ));
        }
        let lattice = Lattice::shared(sizes(&centred)?, classes, scale, bits)?;
        Ok(Self(AskedForm::Centred(centred, Some(lattice))))
    }

    /// Whether it has a theta message. Public sums are added beside that one's, and in the order of chunks
    /// that this brings.
    pub fn has_theta(&self) -> bool {
        match &self.0 {
            AskedForm::Centred(_, Some(lattice)) => lattice.coefficient != 0.0,
            AskedForm::Centred(centred, None) => !centred.silent(),
            AskedForm::Clipped(_) => true,
        }
    }

    /// One about sums as they are.
    pub(super) fn plain(question: &Question, classes: usize, room: &mut Room) -> Self {
        Self(match question.form {
            Form::Centred => AskedForm::Centred(Centred::new(question, classes), None),
            Form::Clipped { limit } => {
                AskedForm::Clipped(Combinations::new(question, classes, limit, room.combinations()))
            }
        })
    }

    /// Measures a chunk, where there is something to measure.
    pub fn measure(
        &self,
        part: &mut Measuring<'_>,
        chunk: &Candidates<'_>,
        lengths: Option<&[f64]>,
        room: &mut MeasureRoom,
    ) {
        if let AskedForm::Centred(centred, Some(lattice)) = &self.0 {
            part.add(centred, lattice, chunk, lengths, room);
        }
    }
}

/// What is summed under each class; refuses clipped sums, and what is outside of the bounds.
fn centred(question: &Question, blocks: &[Block], classes: usize) -> Result<Centred, PriceError> {
    if question.form != Form::Centred {
        return Err(PriceError::Clipped);
    }
    bounds::check(question, blocks, classes)?;
    Ok(Centred::new(question, classes))
}
