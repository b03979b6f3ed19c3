//! What a records division sends to attributes divisions elsewhere (centralisations 3 and 4).
//!
//! Model outputs and the factors of their Jacobian, by record id: for a linear model that is the
//! feature row, so whoever receives a handover learns `x`.

use steffle_model::model::{Block, Factor, Inputs, Layers};
use steffle_model::record::{Layout, Rows};
use steffle_model::scores::{Candidates, NO_CELL, Who};

use super::codec::{CodecError, Decode, Encode, Reader, Writer};

/// Candidates of a batch, written down.
///
/// A records division writes it for holders of attributes elsewhere, who price and sum it without
/// knowing the features otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Handover {
    ids: Vec<u64>,
    cells: Vec<u16>,
    scores: Vec<f64>,
    /// One factor per record on its theta candidates, or none for 1.
    caps: Vec<f64>,
    blocks: Vec<Block>,
    slopes: Vec<Vec<f64>>,
    rows: Rows,
    hidden: Vec<Vec<f64>>,
}

impl Handover {
    /// No record yet.
    pub fn empty(blocks: &[Block], layout: Layout) -> Self {
        Self {
            ids: Vec::new(),
            cells: Vec::new(),
            scores: Vec::new(),
            caps: Vec::new(),
            blocks: blocks.to_vec(),
            slopes: vec![Vec::new(); blocks.len()],
            rows: Rows::empty(layout),
            hidden: vec![Vec::new(); blocks.len() - 1],
        }
    }

    /// Adds a chunk; `ids` turns positions into universal ids.
    pub fn push(&mut self, candidates: &Candidates<'_>, ids: &[u64]) {
        match candidates.who {
            Who::Positions(which) => {
                self.ids.extend(which.iter().map(|&position| ids[position as usize]));
            }
            Who::Ids(ids, _) => self.ids.extend_from_slice(ids),
        }
        self.cells.extend_from_slice(candidates.cells);
        self.scores.extend_from_slice(candidates.scores);
        self.caps.extend_from_slice(candidates.caps);
        for (layer, factor) in candidates.factors.iter().enumerate() {
            self.slopes[layer].extend_from_slice(factor.slopes);
            match factor.inputs {
                Inputs::Rows(rows) => self.rows.append(rows),
                Inputs::Dense(units) => self.hidden[layer - 1].extend_from_slice(units),
            }
        }
    }

    /// Adds the records of another handover of the same shape.
    pub fn append(&mut self, other: &Self) {
        let factors = other.factors();
        self.push(&other.candidates(&factors, 0), &[]);
    }

    /// The encoded rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// How many records were announced.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether no record was announced.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The announced ids.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The model's layers.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The factors, for [`Handover::candidates`].
    pub fn factors(&self) -> Layers<'_> {
        Factor::layers(&self.blocks, &self.slopes, &self.rows, &self.hidden)
    }

    /// The candidates, as the attributes division takes them, when `first` records were announced
    /// before these.
    pub fn candidates<'a>(&'a self, factors: &'a [Factor<'a>], first: usize) -> Candidates<'a> {
        Candidates {
            who: Who::Ids(&self.ids, first),
            cells: &self.cells,
            scores: &self.scores,
            caps: &self.caps,
            factors,
        }
    }

    /// Whether the records' cells and scores are those of a question of this shape.
    pub fn fits(&self, cells: usize, columns: usize) -> Result<(), &'static str> {
        if self.scores.len() != self.ids.len() * columns {
            return Err("its scores do not have the question's columns");
        }
        let known = |&cell: &u16| usize::from(cell) < cells || cell == NO_CELL;
        if !self.cells.iter().all(known) {
            return Err("a record is in a cell that the question does not have");
        }
        Ok(())
    }

    /// Every number that a hostile silo could have made up.
    pub fn numbers_mut(&mut self) -> Vec<&mut f64> {
        let all = self.slopes.iter_mut().chain(&mut self.hidden).flatten();
        all.chain(&mut self.scores).chain(&mut self.caps).collect()
    }

    /// Refuses parts that do not fit together, ids that repeat and numbers that are not finite.
    fn check(&self) -> Result<(), CodecError> {
        let shape = |what: &str| Err(CodecError::Shape(what.to_owned()));
        let count = self.ids.len();
        if self.cells.len() != count || self.rows.len() != count {
            return shape("ids, cells and rows differ in number");
        }
        let per_record = |len: usize| len == 0 || len == count;
        if !per_record(self.caps.len()) {
            return shape("caps are not one per record");
        }
        if !self.caps.iter().all(|cap| (0.0..=1.0).contains(cap)) {
            return shape("a cap is outside 0 to 1");
        }
        // Sizes are below 2^40, and a model has far fewer parameters than numbers can count.
        let sized = |block: &Block| {
            let parameters = (block.inputs + 1).checked_mul(block.outputs);
            block.outputs > 0 && parameters.is_some_and(|parameters| parameters < 1 << 40)
        };
        if !self.blocks.iter().all(sized) {
            return shape("a layer has no outputs, or more parameters than there can be");
        }
        if count == 0 {
            return Ok(());
        }
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return shape("a record id stands twice");
        }
        if !self.scores.len().is_multiple_of(count) || self.scores.is_empty() {
            return shape("scores do not divide among the records");
        }
        let columns = self.scores.len() / count;
        let (mut inputs, mut offset) = (self.rows.layout().features, 0);
        for (layer, (block, slopes)) in self.blocks.iter().zip(&self.slopes).enumerate() {
            let per_record = block.outputs.checked_mul(columns).and_then(|n| n.checked_mul(count));
            if per_record != Some(slopes.len()) || block.inputs != inputs || block.offset != offset
            {
                return shape("a layer's slopes do not fit its shape");
            }
            if layer > 0 && self.hidden[layer - 1].len() != count * inputs {
                return shape("a layer's inputs do not fit its shape");
            }
            (inputs, offset) = (block.outputs, offset + block.parameters());
        }
        let numbers = self.slopes.iter().chain(&self.hidden).flatten().chain(&self.scores);
        if numbers.into_iter().all(|number| number.is_finite()) {
            Ok(())
        } else {
            shape("a number is not finite")
        }
    }
}

impl Encode for Handover {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.ids, u64::to_le_bytes);
        writer.list(&self.cells, u16::to_le_bytes);
        writer.f64s(&self.scores);
        writer.f64s(&self.caps);
        writer.u32(self.blocks.len() as u32);
        for (block, slopes) in self.blocks.iter().zip(&self.slopes) {
            [block.offset, block.inputs, block.outputs]
                .iter()
                .for_each(|&number| writer.u64(number as u64));
            writer.f64s(slopes);
        }
        self.hidden.iter().for_each(|units| writer.f64s(units));
        write_rows(&self.rows, writer);
    }
}

impl Decode for Handover {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let ids = reader.list(u64::from_le_bytes)?;
        let cells = reader.list(u16::from_le_bytes)?;
        let scores = reader.f64s()?;
        let caps = reader.f64s()?;
        let layers = reader.u32()?;
        if layers == 0 {
            return Err(CodecError::Shape("no layer".to_owned()));
        }
        let (mut blocks, mut slopes, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..layers {
            let (offset, inputs) = (size(reader)?, size(reader)?);
            blocks.push(Block { offset, inputs, outputs: size(reader)? });
            slopes.push(reader.f64s()?);
        }
        for _ in 1..layers {
            hidden.push(reader.f64s()?);
        }
        let rows = read_rows(reader, ids.len())?;
        let handover = Self { ids, cells, scores, caps, blocks, slopes, rows, hidden };
        handover.check()?;
        Ok(handover)
    }
}

/// Rows, layout first.
pub(super) fn write_rows(rows: &Rows, writer: &mut Writer) {
    let layout = rows.layout();
    [layout.numeric, layout.categorical, layout.features, rows.len()]
        .iter()
        .for_each(|&number| writer.u64(number as u64));
    let (numeric, codes) = rows.parts();
    writer.list(&numeric, f32::to_le_bytes);
    writer.list(&codes, u32::to_le_bytes);
}

/// What [`write_rows`] wrote; refuses another number of rows than expected, before there is room for
/// them: rows without numbers and levels take no bytes, so that any number could be claimed.
pub(super) fn read_rows(reader: &mut Reader<'_>, expected: usize) -> Result<Rows, CodecError> {
    let (numeric, categorical) = (size(reader)?, size(reader)?);
    let layout = Layout { numeric, categorical, features: size(reader)? };
    let len = size(reader)?;
    if len != expected {
        return Err(CodecError::Shape(format!("{len} rows for {expected} ids")));
    }
    let (numeric, codes) = (reader.list(f32::from_le_bytes)?, reader.list(u32::from_le_bytes)?);
    Rows::new(layout, len, numeric, codes).map_err(|error| CodecError::Shape(error.to_string()))
}

/// A size; no table has 2^40 columns, and a bound keeps products of sizes from overflowing.
fn size(reader: &mut Reader<'_>) -> Result<usize, CodecError> {
    let number = reader.u64()?;
    usize::try_from(number)
        .ok()
        .filter(|&size| size < 1 << 40)
        .ok_or_else(|| CodecError::Shape(format!("a size of {number}")))
}
