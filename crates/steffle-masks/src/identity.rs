//! Who a site is, whom it knows, and what it says when a run begins.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::{Hash, hash};

/// The key that a site is known by: Ed25519.
///
/// Its secret lies in a file of the site, its fingerprint is read out to the others.
pub struct Identity(SigningKey);

/// The SHA-256 of a public key, as people compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub Hash);

/// A text that is no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 64 hexadecimal digits, in groups or not")]
pub struct NoFingerprint;

impl Identity {
    /// The identity of a secret.
    pub fn new(secret: &Hash) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The public key.
    pub fn public(&self) -> Hash {
        self.0.verifying_key().to_bytes()
    }

    /// What others pin.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.public())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// Signs a letter to other sites; returns the public key and the signature. The same letter has the
    /// same signature.
    pub fn sign_letter(&self, letter: &[u8]) -> [u8; 96] {
        let mut signed = [0; 96];
        signed[..32].copy_from_slice(&self.public());
        signed[32..].copy_from_slice(&self.sign(&letter_hash(letter)));
        signed
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.fingerprint()).finish()
    }
}

impl Fingerprint {
    /// Of a public key.
    pub fn of(public: &Hash) -> Self {
        Self::of_bytes(public)
    }

    /// Returns whose letter it is; `None` where the signature is not that of the key before it.
    pub fn of_letter(letter: &[u8], signed: &[u8; 96]) -> Option<Self> {
        let (public, signature) = signed.split_first_chunk::<32>()?;
        is_signed(public, &letter_hash(letter), signature.try_into().ok()?)
            .then(|| Self::of(public))
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(bytes).into())
    }
}

/// Sixteen groups of four digits: they are read out over the telephone.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, pair) in self.0.chunks(2).enumerate() {
            let gap = if at == 0 { "" } else { " " };
            write!(f, "{gap}{:02x}{:02x}", pair[0], pair[1])?;
        }
        Ok(())
    }
}

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let digits: Vec<u8> = text
            .chars()
            .filter(|digit| !digit.is_whitespace() && *digit != ':')
            .map(|digit| digit.to_digit(16).map(|digit| digit as u8).ok_or(NoFingerprint))
            .collect::<Result<_, _>>()?;
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(NoFingerprint);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }
}

/// All sites of a federation, by what they pinned of each other. The same for every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// In ascending order.
    sites: Vec<(Fingerprint, String)>,
}

/// Why fingerprints are no roster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RosterError {
    /// Two sites with one key.
    #[error("{0} and {1} have the same key: every site makes its own by `steffle silo key`")]
    Twice(String, String),
    /// More sites than sums are made for.
    #[error("{0} sites; at most 127 add up without leaving the ring")]
    Many(usize),
}

impl Roster {
    /// Sites by fingerprint and name; refuses one key for two of them.
    pub fn new(
        sites: impl IntoIterator<Item = (Fingerprint, String)>,
    ) -> Result<Self, RosterError> {
        let mut sites: Vec<_> = sites.into_iter().collect();
        sites.sort();
        if let Some(pair) = sites.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(RosterError::Twice(pair[0].1.clone(), pair[1].1.clone()));
        }
        if sites.len() > 127 {
            return Err(RosterError::Many(sites.len()));
        }
        Ok(Self { sites })
    }

    /// How many sites there are.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// What it is called in books and signatures: of fingerprints alone, names are each site's own.
    pub fn digest(&self) -> Hash {
        let all: Vec<&[u8]> = self.sites.iter().map(|(own, _)| &own.0[..]).collect();
        hash(&[&[&b"steffle roster 1"[..]], &all[..]].concat())
    }

    /// Fingerprints and names, in ascending order: the order is who adds and who subtracts.
    pub fn sites(&self) -> &[(Fingerprint, String)] {
        &self.sites
    }

    /// The place of a fingerprint.
    pub(crate) fn place(&self, fingerprint: Fingerprint) -> Option<usize> {
        self.sites.iter().position(|(own, _)| *own == fingerprint)
    }
}

/// What a site says to all others when a run begins.
///
/// A fresh X25519 key and a nonce, signed together with what the site takes the run to be. What is
/// signed does not travel: who reads it checks the signature against what it takes the run to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The identity's public key.
    pub identity: Hash,
    /// The X25519 key of this run.
    pub exchange: Hash,
    /// Never the same twice.
    pub nonce: [u8; 16],
    /// How often the site's data have changed: within an epoch they are the same.
    pub epoch: u32,
    /// Over all of it.
    pub signature: [u8; 64],
}

impl Hello {
    /// Bytes of one.
    pub const BYTES: usize = 32 + 32 + 16 + 4 + 64;

    /// As it travels.
    pub fn to_bytes(&self) -> Vec<u8> {
        let epoch = self.epoch.to_le_bytes();
        [&self.identity[..], &self.exchange, &self.nonce, &epoch, &self.signature].concat()
    }

    /// Reads one; `None` where it has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::BYTES {
            return None;
        }
        let (identity, rest) = bytes.split_first_chunk()?;
        let (exchange, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (signature, _) = rest.split_first_chunk()?;
        let (identity, exchange, nonce) = (*identity, *exchange, *nonce);
        let epoch = u32::from_le_bytes(*epoch);
        Some(Self { identity, exchange, nonce, epoch, signature: *signature })
    }

    pub(crate) fn is_signed(&self, message: &[u8]) -> bool {
        is_signed(&self.identity, message, &self.signature)
    }
}

fn is_signed(public: &Hash, message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    VerifyingKey::from_bytes(public).is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

/// What a signature of a letter is about: no hello has the same first part.
fn letter_hash(letter: &[u8]) -> Hash {
    hash(&[b"steffle letter 1", letter])
}
