//! What silos add up when they pool: none of it involves `s` but the noisy sums, which are
//! released before.

use steffle_model::linear::Symmetric;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::summed::{Numbers, Sum, Summand, Totals};

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
    /// Shares of noisy class sums, where sites share noise: integers, which mean something only once
    /// those of all sites are added up.
    pub shares: Vec<Vec<i128>>,
}

/// The Gram matrix (a mean of `f f'`) and cap that silos agreed on.
///
/// With both, every silo whitens and cuts its features alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The Gram matrix.
    pub gram: Symmetric,
    /// The cap, in whitened units.
    pub cap: f64,
}

impl PooledSums {
    /// Fewest records that must have a column before a matrix of its products may be seen.
    pub const FEWEST: usize = 5;

    /// Of the total of [`Pool::Entries`](super::Pool::Entries), the columns that some records have, but
    /// fewer than [`PooledSums::FEWEST`]. A column that nobody has shows nobody.
    pub fn rare(&self) -> Vec<u32> {
        let rare = |entries: &f64| *entries > 0.0 && *entries < Self::FEWEST as f64;
        (0..).zip(&self.numbers).filter(|(_, entries)| rare(entries)).map(|(at, _)| at).collect()
    }

    /// Single numbers alone.
    pub fn of(numbers: Vec<f64>) -> Self {
        let (vectors, shares) = (Vec::new(), Vec::new());
        Self { numbers, vectors, matrix: Symmetric::zeros(0), shares }
    }
}

impl Sum for PooledSums {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let (numbers, vectors) = (totals.list()?, totals.lists()?);
        let (size, lower) = (totals.length()?, totals.list()?);
        let matrix = from_lower(size, &lower)?;
        let shares = totals.length()?;
        let shares = (0..shares).map(|_| totals.integers()).collect::<Result<_, CodecError>>()?;
        Ok(Self { numbers, vectors, matrix, shares })
    }
}

impl Summand for PooledSums {
    fn write(&self, numbers: &mut Numbers) {
        numbers.list(&self.numbers);
        numbers.lists(&self.vectors);
        numbers.length(self.matrix.size());
        numbers.list(&lower(&self.matrix));
        numbers.length(self.shares.len());
        self.shares.iter().for_each(|share| numbers.integers(share));
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
        writer.f64s(&lower(self));
    }
}

impl Decode for Symmetric {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let size = reader.u32()? as usize;
        let lower = reader.f64s()?;
        finite(lower.iter())?;
        from_lower(size, &lower)
    }
}

fn lower(matrix: &Symmetric) -> Vec<f64> {
    (0..matrix.size()).flat_map(|i| matrix.row(i)[..=i].iter().copied()).collect()
}

fn from_lower(size: usize, lower: &[f64]) -> Result<Symmetric, CodecError> {
    if size.checked_add(1).and_then(|next| size.checked_mul(next)) != Some(2 * lower.len()) {
        return Err(CodecError::Shape("a matrix is not its lower triangle".to_owned()));
    }
    Ok(Symmetric::from_lower(size, |i, j| lower[i * (i + 1) / 2 + j]))
}

fn finite<'a>(mut numbers: impl Iterator<Item = &'a f64>) -> Result<(), CodecError> {
    if numbers.all(|number| number.is_finite()) {
        Ok(())
    } else {
        Err(CodecError::Shape("a number is not finite".to_owned()))
    }
}
