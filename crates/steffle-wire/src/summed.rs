//! Sums over sites: integers of one ring, of which only totals are read.
//!
//! A number is a multiple of `2^-60`, held modulo `2^128`. Adding is exact and has no order, so that
//! a total does not depend on who is added first, and masks that cancel would change no bit of it.
//! Numbers of at least `2^-8` are written down without rounding, others to `2^-61`; a total is rounded
//! once, when it is read.

use std::marker::PhantomData;

use steffle_model::model::kernel;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};

/// A sum that sites have parts of.
///
/// Only what all parts add up to is ever read.
pub trait Sum {
    /// What the parts of all sites, added up, are.
    type Total;

    /// Reads the total, in the order in which a part was written.
    fn read(totals: &mut Totals<'_>) -> Result<Self::Total, CodecError>;
}

/// A part of a sum that a site may write down as it is. Sums about `s` are no summands: only what was
/// released is added up.
pub trait Summand: Sum {
    /// Writes its numbers, always in the same order.
    fn write(&self, numbers: &mut Numbers);
}

/// A reply that is added up over sites before anything of it is read.
///
/// The server has no other way to read it.
pub trait Added: Decode {
    /// What it adds up to.
    type Total;

    /// Adds another site's reply; refuses one of another shape.
    fn add(&mut self, other: &Self) -> Result<(), CodecError>;

    /// Adds another site's reply while it is read; refuses one of another shape.
    fn add_next(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        let other = Self::decode(reader)?;
        self.add(&other)
    }

    /// Reads the total.
    fn total(&self) -> Result<Self::Total, CodecError>;
}

/// One site's part of a sum, or several sites' parts, added up.
///
/// Fixed-point numbers in one ring, so the order of sites changes no bit; only the total is read.
pub struct Summed<T> {
    /// How long its lists are.
    lengths: Vec<u32>,
    numbers: Vec<i128>,
    /// Nothing, at every site: a total in which it is something is one of masks that do not cancel.
    check: i128,
    of: PhantomData<fn() -> T>,
}

/// Room of a part that was sent, for the next one: there are some for every round of every silo.
#[derive(Debug, Default)]
pub struct SumRoom {
    lengths: Vec<u32>,
    numbers: Vec<i128>,
}

/// A reply that a mask may cover before it is sent.
///
/// Its numbers are added to and never shown: who masks learns nothing by it, nor does who adds up.
pub trait Masked {
    /// Adds a mask to every number; `pads` gives the next ones. What has no numbers that are added up
    /// over sites stays as it is, and is sent in the clear.
    fn mask(&mut self, pads: &mut dyn FnMut(usize) -> Vec<i128>);
}

/// A number that cannot be added up.
///
/// The run ends with it, because a number that wraps would be a wrong one.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "a sum of {value} over the records of one site is not finite, or too large to be added up over \
     {sites} sites: numeric columns of about unit variance, or smaller steps, keep sums small"
)]
pub struct Beyond {
    /// The number.
    pub value: f64,
    /// Sites that add up.
    pub sites: usize,
}

/// Numbers of a part, being written.
///
/// Each is checked against what all sites together may add.
pub struct Numbers {
    lengths: Vec<u32>,
    /// Those written, then what is left of old ones: overwriting takes less than clearing.
    integers: Vec<i128>,
    written: usize,
    /// What all numbers are below, so that their total stays in the ring.
    limit: f64,
    /// Whether one that is not is written as the largest.
    cut: bool,
    beyond: Option<f64>,
}

/// Totals, being read.
///
/// In the order in which the parts were written.
pub struct Totals<'a> {
    lengths: &'a [u32],
    numbers: &'a [i128],
}

impl Numbers {
    fn over(sites: usize, room: SumRoom) -> Self {
        // 2^127 / 2^60, shared by all sites.
        let limit = 2_f64.powi(67) / sites.max(1).next_power_of_two() as f64;
        let SumRoom { mut lengths, numbers: integers } = room;
        lengths.clear();
        Self { lengths, integers, written: 0, limit, cut: false, beyond: None }
    }

    /// About so many numbers will follow: writing them then seldom moves what was written.
    pub fn expect(&mut self, count: usize) {
        self.integers.reserve((self.written + count).saturating_sub(self.integers.len()));
    }

    /// A number.
    pub fn number(&mut self, value: f64) {
        if value.abs() < self.limit {
            self.next(1)[0] = kernel::to_steps(value);
        } else {
            self.write(&[value]);
        }
    }

    /// Where the next numbers go.
    fn next(&mut self, count: usize) -> &mut [i128] {
        let start = self.written;
        self.written += count;
        if self.integers.len() < self.written {
            self.integers.resize(self.written, 0);
        }
        &mut self.integers[start..self.written]
    }

    fn write(&mut self, values: &[f64]) {
        let limit = self.limit;
        if kernel::fixed_point(values, 1.0, limit, self.next(values.len())) {
            return;
        }
        if self.cut {
            let most = limit / 2.0;
            let cut = |value: &f64| if value.is_nan() { 0.0 } else { value.clamp(-most, most) };
            let cut: Vec<f64> = values.iter().map(cut).collect();
            self.written -= values.len();
            kernel::fixed_point(&cut, 1.0, limit, self.next(values.len()));
        } else {
            let within = |value: &f64| value.abs() < limit;
            self.beyond = values.iter().copied().find(|value| !within(value));
        }
    }

    /// A count.
    pub fn count(&mut self, count: u64) {
        self.number(count as f64);
    }

    /// Numbers, as many as there are.
    pub fn list(&mut self, values: &[f64]) {
        self.length(values.len());
        self.write(values);
    }

    /// Lists, as many as there are.
    pub fn lists(&mut self, lists: &[Vec<f64>]) {
        self.length(lists.len());
        lists.iter().for_each(|list| self.list(list));
    }

    /// Integers that were released, as many as there are: steps of the ring as they are. Their makers
    /// keep them small by construction; a check here would depend on what they are about.
    pub fn integers(&mut self, values: &[i128]) {
        self.length(values.len());
        self.next(values.len()).copy_from_slice(values);
    }

    /// How many of something follow; the same at every site.
    pub fn length(&mut self, length: usize) {
        self.lengths.push(length as u32);
    }

    /// Released numbers, times `scale`: one that is too large is written as the largest, which depends
    /// on what is public already. A refusal would be one more thing to learn from.
    pub(super) fn released(&mut self, values: &[f64], scale: f64) {
        self.length(values.len());
        let most = self.limit / 2.0;
        kernel::fixed_point(values, scale, most, self.next(values.len()));
    }

    fn finish<T>(mut self) -> Summed<T> {
        self.integers.truncate(self.written);
        Summed { lengths: self.lengths, numbers: self.integers, check: 0, of: PhantomData }
    }
}

impl Totals<'_> {
    /// Whether nobody added anything.
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty() && self.numbers.is_empty()
    }

    /// A number.
    pub fn number(&mut self) -> Result<f64, CodecError> {
        let (first, rest) = self.numbers.split_first().ok_or_else(shape)?;
        self.numbers = rest;
        Ok(kernel::from_steps(*first))
    }

    /// A count; none where parts that are no counts were added up.
    pub fn count(&mut self) -> Result<u64, CodecError> {
        self.number().map(|count| count as u64)
    }

    /// How many of something follow.
    pub fn length(&mut self) -> Result<usize, CodecError> {
        let (first, rest) = self.lengths.split_first().ok_or_else(shape)?;
        self.lengths = rest;
        Ok(*first as usize)
    }

    /// Numbers.
    pub fn list(&mut self) -> Result<Vec<f64>, CodecError> {
        let length = self.length()?;
        let (own, rest) = self.numbers.split_at_checked(length).ok_or_else(shape)?;
        self.numbers = rest;
        let mut values = Vec::with_capacity(own.len());
        kernel::from_fixed_point(own, &mut values);
        Ok(values)
    }

    /// Integers that were released.
    pub fn integers(&mut self) -> Result<Vec<i128>, CodecError> {
        let length = self.length()?;
        let (own, rest) = self.numbers.split_at_checked(length).ok_or_else(shape)?;
        self.numbers = rest;
        Ok(own.to_vec())
    }

    /// Lists.
    pub fn lists(&mut self) -> Result<Vec<Vec<f64>>, CodecError> {
        let length = self.length()?;
        (0..length).map(|_| self.list()).collect()
    }
}

fn unlike() -> CodecError {
    CodecError::Shape("sites add up sums of different shapes".to_owned())
}

fn shape() -> CodecError {
    CodecError::Shape("a sum has fewer numbers than it should".to_owned())
}

impl<T: Summand> Summed<T> {
    /// The part of one of `sites` sites; refuses numbers that could leave the ring.
    pub fn of(sum: &T, sites: usize) -> Result<Self, Beyond> {
        Self::of_in(SumRoom::default(), sum, sites)
    }

    /// The same, in the room of an old one.
    pub fn of_in(room: SumRoom, sum: &T, sites: usize) -> Result<Self, Beyond> {
        let mut numbers = Numbers::over(sites, room);
        sum.write(&mut numbers);
        match numbers.beyond {
            None => Ok(numbers.finish()),
            Some(value) => Err(Beyond { value, sites }),
        }
    }

    /// The same, with the largest number in place of one that could leave the ring, and 0 in place of
    /// one that is none: under masks a refusal would tell something about one site.
    pub fn cut(sum: &T, sites: usize) -> Self {
        let mut numbers = Numbers { cut: true, ..Numbers::over(sites, SumRoom::default()) };
        sum.write(&mut numbers);
        numbers.finish()
    }
}

impl<T> Masked for Summed<T> {
    fn mask(&mut self, pads: &mut dyn FnMut(usize) -> Vec<i128>) {
        let pads = pads(self.numbers.len() + 1);
        let own = self.numbers.iter_mut().chain([&mut self.check]);
        own.zip(pads).for_each(|(number, pad)| *number = number.wrapping_add(pad));
    }
}

impl<T> Summed<T> {
    /// The part of a site that has nothing to add, where nobody has.
    pub fn nothing() -> Self {
        Numbers::over(1, SumRoom::default()).finish()
    }

    /// A part of released numbers, which `write` bounds.
    pub(super) fn of_released(
        sites: usize,
        room: SumRoom,
        write: impl FnOnce(&mut Numbers),
    ) -> Self {
        let mut numbers = Numbers::over(sites, room);
        write(&mut numbers);
        numbers.finish()
    }

    /// Its room, once it was sent.
    pub fn into_room(self) -> SumRoom {
        SumRoom { lengths: self.lengths, numbers: self.numbers }
    }
}

impl<T: Sum> Added for Summed<T> {
    type Total = T::Total;

    fn add(&mut self, other: &Self) -> Result<(), CodecError> {
        let alike = self.lengths == other.lengths && self.numbers.len() == other.numbers.len();
        if !alike {
            return Err(unlike());
        }
        let pairs = self.numbers.iter_mut().zip(&other.numbers);
        pairs.for_each(|(mine, theirs)| *mine = mine.wrapping_add(*theirs));
        self.check = self.check.wrapping_add(other.check);
        Ok(())
    }

    fn add_next(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        let lengths = reader.items()?.iter().map(|&length| u32::from_le_bytes(length));
        let numbers = reader.items()?;
        if !lengths.eq(self.lengths.iter().copied()) || numbers.len() != self.numbers.len() {
            return Err(unlike());
        }
        let pairs = self.numbers.iter_mut().zip(numbers);
        pairs.for_each(|(mine, own)| *mine = mine.wrapping_add(i128::from_le_bytes(*own)));
        self.check = self.check.wrapping_add(check(reader)?);
        Ok(())
    }

    fn total(&self) -> Result<T::Total, CodecError> {
        if self.check != 0 {
            return Err(CodecError::Shape(
                "the sites disagree: their masks do not cancel, so they were not all asked the same, or \
                 one is missing"
                    .to_owned(),
            ));
        }
        let mut totals = Totals { lengths: &self.lengths, numbers: &self.numbers };
        let total = T::read(&mut totals)?;
        if totals.is_empty() {
            Ok(total)
        } else {
            Err(CodecError::Shape("a sum has more numbers than it should".to_owned()))
        }
    }
}

impl<T> Encode for Summed<T> {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.lengths, u32::to_le_bytes);
        writer.list(&self.numbers, i128::to_le_bytes);
        writer.raw(&self.check.to_le_bytes());
    }

    fn size_hint(&self) -> usize {
        4 * self.lengths.len() + 16 * self.numbers.len() + 64
    }
}

impl<T> Decode for Summed<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut sum = Self::nothing();
        sum.decode_over(reader)?;
        Ok(sum)
    }

    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        reader.list_over(&mut self.lengths, u32::from_le_bytes)?;
        reader.list_over(&mut self.numbers, i128::from_le_bytes)?;
        self.check = check(reader)?;
        Ok(())
    }
}

fn check(reader: &mut Reader<'_>) -> Result<i128, CodecError> {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(reader.raw(16)?);
    Ok(i128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests;
