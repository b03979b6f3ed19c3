//! Hashes and long lists of numbers as hexadecimal digits, little end first: a book has a cost per
//! unit and round, and reads them back to the bit.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serializer, de};

/// What can be written as a string of hexadecimal digits.
pub(super) trait Packed: Sized {
    fn bytes(&self) -> Vec<u8>;

    /// None where the number of bytes is wrong.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

pub(super) fn serialize<T: Packed, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&hexadecimal(&value.bytes()))
}

pub(super) fn deserialize<'de, T: Packed, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    let value = bytes(&text).and_then(|bytes| T::from_bytes(&bytes));
    value.ok_or_else(|| de::Error::custom("not the hexadecimal digits that were written"))
}

/// Two digits per byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The way back; none for capitals or anything else that was not written here.
pub fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs = digits.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

impl<const N: usize> Packed for [u8; N] {
    fn bytes(&self) -> Vec<u8> {
        self.to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

macro_rules! packed_numbers {
    ($number:ty) => {
        impl Packed for Vec<$number> {
            fn bytes(&self) -> Vec<u8> {
                self.iter().flat_map(|number| number.to_le_bytes()).collect()
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let numbers = bytes.chunks_exact(size_of::<$number>());
                if !numbers.remainder().is_empty() {
                    return None;
                }
                numbers
                    .map(|number| Some(<$number>::from_le_bytes(number.try_into().ok()?)))
                    .collect()
            }
        }
    };
}

packed_numbers!(f64);
packed_numbers!(u64);
packed_numbers!(u32);
