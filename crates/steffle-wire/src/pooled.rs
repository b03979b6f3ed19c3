//! What silos add up when they pool: none of it involves `s` but the noisy sums, which are
//! released before.

use steffle_model::linear::Symmetric;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};

/// One silo's part of a pooled sum. Which numbers it holds depends on the exchange: records and
/// Gram matrix; records and cap; or records, noise variance, the sum of the capped features, the
/// noisy class sums and the Gram matrix of the capped features.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledSums {
    /// Single numbers.
    pub numbers: Vec<f64>,
    /// Vectors of the size of the features.
    pub vectors: Vec<Vec<f64>>,
    /// A matrix of the size of the features squared, or none (size 0).
    pub matrix: Symmetric,
}

/// The Gram matrix (a mean of `f f'`) and cap that silos agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The Gram matrix.
    pub gram: Symmetric,
    /// The cap, in whitened units.
    pub cap: f64,
}

impl PooledSums {
    /// Single numbers alone.
    pub fn of(numbers: Vec<f64>) -> Self {
        Self { numbers, vectors: Vec::new(), matrix: Symmetric::zeros(0) }
    }

    /// Adds another silo's part; refuses one of another shape.
    pub fn add(&mut self, other: &Self) -> Result<(), CodecError> {
        let same = self.numbers.len() == other.numbers.len()
            && self.matrix.size() == other.matrix.size()
            && self.vectors.len() == other.vectors.len()
            && self.vectors.iter().zip(&other.vectors).all(|(a, b)| a.len() == b.len());
        if !same {
            return Err(CodecError::Shape("silos pool sums of different shapes".to_owned()));
        }
        let add = |mine: &mut [f64], theirs: &[f64]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        };
        add(&mut self.numbers, &other.numbers);
        self.vectors.iter_mut().zip(&other.vectors).for_each(|(mine, theirs)| add(mine, theirs));
        self.matrix.add(1.0, &other.matrix);
        Ok(())
    }
}

impl Encode for PooledSums {
    fn encode(&self, writer: &mut Writer) {
        writer.f64s(&self.numbers);
        writer.u32(self.vectors.len() as u32);
        self.vectors.iter().for_each(|vector| writer.f64s(vector));
        self.matrix.encode(writer);
    }

    fn size_hint(&self) -> usize {
        1000 + 4 * self.matrix.size() * (self.matrix.size() + 1)
    }
}

impl Decode for PooledSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let numbers = reader.f64s()?;
        let count = reader.u32()?;
        let vectors: Vec<Vec<f64>> =
            (0..count).map(|_| reader.f64s()).collect::<Result<_, CodecError>>()?;
        finite(numbers.iter().chain(vectors.iter().flatten()))?;
        Ok(Self { numbers, vectors, matrix: Symmetric::decode(reader)? })
    }
}

impl Encode for Agreed {
    fn encode(&self, writer: &mut Writer) {
        writer.f64(self.cap);
        self.gram.encode(writer);
    }
}

impl Decode for Agreed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let cap = reader.f64()?;
        finite([&cap].into_iter())?;
        Ok(Self { cap, gram: Symmetric::decode(reader)? })
    }
}

/// The lower triangle, row by row.
impl Encode for Symmetric {
    fn encode(&self, writer: &mut Writer) {
        writer.u32(self.size() as u32);
        let lower: Vec<f64> =
            (0..self.size()).flat_map(|i| self.row(i)[..=i].iter().copied()).collect();
        writer.f64s(&lower);
    }
}

impl Decode for Symmetric {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let size = reader.u32()? as usize;
        let lower = reader.f64s()?;
        if size.checked_add(1).and_then(|next| size.checked_mul(next)) != Some(2 * lower.len()) {
            return Err(CodecError::Shape("a matrix is not its lower triangle".to_owned()));
        }
        finite(lower.iter())?;
        Ok(Self::from_lower(size, |i, j| lower[i * (i + 1) / 2 + j]))
    }
}

fn finite<'a>(mut numbers: impl Iterator<Item = &'a f64>) -> Result<(), CodecError> {
    if numbers.all(|number| number.is_finite()) {
        Ok(())
    } else {
        Err(CodecError::Shape("a number is not finite".to_owned()))
    }
}
