//! What the server asks in a round: theta and, per cell, `C` and `q`.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};

/// What the server asks about one cell. A silo sees neither W nor the class weights.
#[derive(Debug, Clone, PartialEq)]
pub struct CellQuestion {
    /// `C_r`, `[class][column]`: what class r adds to the combination of scores.
    pub combinations: Vec<f64>,
    /// `q`, one per column: what is subtracted for every class.
    pub quadratic: Vec<f64>,
}

impl CellQuestion {
    /// What all classes share: the mean of the rows. Both divisions centre by it.
    pub fn mean(&self, classes: usize) -> Vec<f64> {
        self.means(classes).collect()
    }

    /// The same, one column after the other.
    pub fn means(&self, classes: usize) -> impl Iterator<Item = f64> {
        let columns = self.quadratic.len();
        let halves = self.combinations.split_at_checked(columns).filter(|_| classes == 2);
        let column = move |u: usize| self.combinations.iter().skip(u).step_by(columns).sum::<f64>();
        (0..columns).map(move |u| match halves {
            Some((zero, one)) if u < one.len() => zero[u] / 2.0 + one[u] / 2.0,
            _ => column(u) / classes as f64,
        })
    }

    pub(super) fn write_all(cells: &[Self], writer: &mut Writer) {
        writer.u32(cells.len() as u32);
        for cell in cells {
            writer.f64s(&cell.combinations);
            writer.f64s(&cell.quadratic);
        }
    }

    /// Reads cells in place of old ones. Memory is taken as they come.
    fn read_over(cells: &mut Vec<Self>, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        let count = reader.u32()? as usize;
        cells.truncate(count);
        for cell in &mut *cells {
            reader.list_over(&mut cell.combinations, f64::from_le_bytes)?;
            reader.list_over(&mut cell.quadratic, f64::from_le_bytes)?;
        }
        for _ in cells.len()..count {
            cells.push(Self { combinations: reader.f64s()?, quadratic: reader.f64s()? });
        }
        Ok(())
    }
}

/// How the s-dependent part of the theta message is formed.
///
/// Centred sums are priced exactly; clipped ones are the paper's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// Per cell, `sum_i J_i' (C_s - mean_r C_r)`; the rest is public and exact.
    Centred,
    /// The paper's: one sum of `clip_L(J_i' (2 C_s - q))` over all cells.
    Clipped {
        /// L.
        limit: f64,
    },
}

/// Which records a round is about.
///
/// All of them, a batch that the silo draws, or a public block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// All of them.
    All,
    /// A minibatch of this size, drawn by the silo.
    Mini(u32),
    /// One of this many public blocks, in turn. A record's block depends on its id alone, for the
    /// life of the store.
    Block(u32),
}

impl Batch {
    /// The block whose turn it is.
    pub fn block_of(count: u32, round: u32) -> usize {
        (round.saturating_sub(1) % count.max(1)) as usize
    }

    /// The block of the records with this key, among `count`: the same at every party.
    pub fn block_with(key: u64, count: u32) -> usize {
        (scramble(key) % u64::from(count.max(1))) as usize
    }
}

/// Mixes the bits of an id (the finaliser of SplitMix64), so that ids that count up spread over
/// all blocks.
fn scramble(id: u64) -> u64 {
    let mut mixed = id.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// One round's question.
///
/// Parameters theta and, per cell, a dual matrix: everything the server may choose. A store
/// prices whatever it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The model parameters.
    pub theta: Vec<f64>,
    /// One per cell; empty when only the loss and its gradient are wanted.
    pub cells: Vec<CellQuestion>,
    /// How the theta message is formed.
    pub form: Form,
    /// Which records.
    pub batch: Batch,
    /// Whether the value of the loss is wanted beside its gradient.
    pub loss: bool,
}

/// Why a silo refuses a question.
///
/// It is said before anything is computed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuestionError {
    /// Theta has the wrong length.
    #[error("theta has {found} numbers; the agreed model has {expected}")]
    Theta {
        /// Numbers sent.
        found: usize,
        /// Numbers the model has.
        expected: usize,
    },
    /// The cells have the wrong shape.
    #[error("the question's cells are not {cells} of {classes} x {columns}")]
    Cells {
        /// Cells the notion has.
        cells: usize,
        /// Classes the schema has.
        classes: usize,
        /// Scores the objective has.
        columns: usize,
    },
    /// A number is NaN or infinite.
    #[error("the question has a number that is not finite")]
    NotFinite,
    /// A diagonal of no metric.
    #[error("the question's metric has a diagonal entry that is not above 0")]
    Diagonal,
    /// Gradients at the start of a step that are not those at its end.
    #[error("{found} gradients at the start of a step; allowed are none and {expected}")]
    Gradients {
        /// Gradients sent.
        found: usize,
        /// Gradients at the end.
        expected: usize,
    },
    /// Steps of no length, or of one that no pass has.
    #[error("steps that are not above 0, or above 1")]
    Step,
    /// A pull towards 0 that pushes, or leaves nothing.
    #[error("a pull towards 0 that is not from 0 to 1")]
    Decay,
    /// A batch of no record, or of more than there are.
    #[error("a batch of {0} records; allowed are 1 to the silo's number of records")]
    Batch(u32),
}

impl Question {
    /// Scores that it combines, in every cell.
    pub fn columns(&self) -> usize {
        self.cells.first().map_or(0, |cell| cell.quadratic.len())
    }

    /// Theta messages that answer it: one per cell, or the clipped form's one.
    pub fn messages(&self) -> usize {
        match self.form {
            Form::Centred => self.cells.len(),
            Form::Clipped { .. } => self.cells.len().min(1),
        }
    }

    /// Refuses a question that does not fit the agreed model and objective or is not finite.
    pub fn check(
        &self,
        parameters: usize,
        cells: usize,
        classes: usize,
        columns: usize,
    ) -> Result<(), QuestionError> {
        if self.theta.len() != parameters {
            return Err(QuestionError::Theta { found: self.theta.len(), expected: parameters });
        }
        let fits = |cell: &CellQuestion| {
            cell.combinations.len() == classes * columns && cell.quadratic.len() == columns
        };
        let count = self.cells.len();
        if (count != cells && count != 0) || !self.cells.iter().all(fits) {
            return Err(QuestionError::Cells { cells, classes, columns });
        }
        let limit = match self.form {
            Form::Centred => 0.0,
            Form::Clipped { limit } => limit,
        };
        // All are looked at, several at a time; `all` would stop at the first and look at each.
        let finite =
            |numbers: &[f64]| numbers.iter().map(|x| u64::from(!x.is_finite())).sum::<u64>() == 0;
        let cell = |cell: &CellQuestion| finite(&cell.combinations) && finite(&cell.quadratic);
        if !(finite(&self.theta) && self.cells.iter().all(cell) && limit.is_finite()) {
            return Err(QuestionError::NotFinite);
        }
        match self.batch {
            Batch::Mini(0) | Batch::Block(0) => Err(QuestionError::Batch(0)),
            _ => Ok(()),
        }
    }
}

impl Encode for Question {
    fn encode(&self, writer: &mut Writer) {
        // First, so that the work of a request can be told without reading it.
        self.batch.encode(writer);
        writer.f64s(&self.theta);
        CellQuestion::write_all(&self.cells, writer);
        match self.form {
            Form::Centred => writer.u8(0),
            Form::Clipped { limit } => {
                writer.u8(1);
                writer.f64(limit);
            }
        }
        writer.u8(u8::from(self.loss));
    }
}

impl Encode for Batch {
    fn encode(&self, writer: &mut Writer) {
        let (kind, number) = match *self {
            Self::All => (0, 0),
            Self::Mini(size) => (1, size),
            Self::Block(count) => (2, count),
        };
        writer.u8(kind);
        writer.u32(number);
    }
}

impl Decode for Batch {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match (reader.u8()?, reader.u32()?) {
            (0, _) => Ok(Self::All),
            (1, size) => Ok(Self::Mini(size)),
            (2, count) => Ok(Self::Block(count)),
            (found, _) => Err(CodecError::Tag { what: "batch", found }),
        }
    }
}

impl Decode for Question {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (theta, cells) = (Vec::new(), Vec::new());
        let mut question =
            Self { theta, cells, form: Form::Centred, batch: Batch::All, loss: false };
        question.decode_over(reader)?;
        Ok(question)
    }

    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        self.batch = Batch::decode(reader)?;
        reader.list_over(&mut self.theta, f64::from_le_bytes)?;
        CellQuestion::read_over(&mut self.cells, reader)?;
        self.form = match reader.u8()? {
            0 => Form::Centred,
            1 => Form::Clipped { limit: reader.f64()? },
            found => return Err(CodecError::Tag { what: "form", found }),
        };
        self.loss = reader.flag("loss flag")?;
        Ok(())
    }
}
