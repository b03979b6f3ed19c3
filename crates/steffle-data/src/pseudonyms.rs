//! Keyed pseudonyms in place of record ids.
//!
//! Two organisations with one key get one pseudonym for one id, and match records by it; whoever does
//! not have the key, the lead included, learns neither ids nor whether two of them are one person.
//! A pseudonym is the first 128 bits of HMAC-SHA-256 (RFC 2104) of the id, spaces around it cut off,
//! in hexadecimal digits: two of a billion ids meet with probability below 2e-21. Ids that are few or
//! counted up can be guessed and tried by whoever has the key, and by nobody else.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::table::write_atomically;
use crate::{Error, SiteError};

/// Keys have at least so many bytes.
const SHORTEST_KEY: usize = 16;

/// What the ids of different organisations are turned into pseudonyms with.
pub struct PseudonymKey(Vec<u8>);

impl PseudonymKey {
    /// The bytes of a file, without a line break at their end; refuses fewer than 16.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut key = std::fs::read(path).map_err(|source| Error::io(path, source))?;
        while key.last().is_some_and(u8::is_ascii_whitespace) {
            key.pop();
        }
        if key.len() < SHORTEST_KEY {
            let message = format!(
                "a key of {} bytes; it needs at least {SHORTEST_KEY}, at random, for example by: head \
                 -c 32 /dev/urandom | base64 > KEY",
                key.len()
            );
            return Err(SiteError::Pseudonyms { path: path.to_path_buf(), message }.into());
        }
        Ok(Self(key))
    }

    /// The pseudonym of an id.
    pub fn pseudonym(&self, id: &str) -> String {
        let mac = hmac(&self.0, id.trim_ascii().as_bytes());
        mac.iter().take(16).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }
}

/// Writes a text table anew with pseudonyms in one column, and everything else as it is; returns the
/// number of rows. Refuses ids that are missing or repeat, with their number.
pub fn pseudonymise(
    from: &Path,
    to: &Path,
    column: &str,
    key: &PseudonymKey,
) -> Result<usize, Error> {
    let refuse =
        |message: String| Error::from(SiteError::Pseudonyms { path: from.to_path_buf(), message });
    let delimiter = match from.extension().and_then(|kind| kind.to_str()) {
        Some("csv") => b',',
        Some("tsv") => b'\t',
        _ => return Err(refuse("pseudonyms are for .csv and .tsv files".to_owned())),
    };
    let file = File::open(from).map_err(|source| Error::io(from, source))?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(file);
    let unread = |error: csv::Error| refuse(error.to_string());
    let header = reader.headers().map_err(unread)?.clone();
    let at = header.iter().position(|name| name.trim_ascii() == column);
    let at = at.ok_or_else(|| refuse(format!("has no column `{column}`")))?;
    let (mut rows, mut seen, mut repeated) = (0, HashSet::new(), 0_usize);
    write_atomically(to, |out| {
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
        writer.write_record(&header).map_err(unread)?;
        for record in reader.records() {
            let record = record.map_err(unread)?;
            rows += 1;
            let id = record.get(at).unwrap_or_default().trim_ascii();
            if id.is_empty() {
                return Err(refuse(format!("row {rows}: no id in column `{column}`")));
            }
            let pseudonym = key.pseudonym(id);
            repeated += usize::from(!seen.insert(pseudonym.clone()));
            let cell = |(place, cell)| if place == at { &pseudonym[..] } else { cell };
            let cells = record.iter().enumerate().map(cell);
            writer.write_record(cells).map_err(unread)?;
        }
        if repeated > 0 {
            return Err(refuse(format!(
                "{repeated} of {rows} ids in column `{column}` occur before; an id names one record"
            )));
        }
        writer.flush().map_err(|source| Error::io(to, source))?;
        writer
            .into_inner()
            .map_err(|error| refuse(error.to_string()))?
            .flush()
            .map_err(|source| Error::io(to, source))
    })?;
    Ok(rows)
}

/// RFC 2104 with SHA-256.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut padded = [0; BLOCK];
    if key.len() > BLOCK {
        padded[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(padded.map(|byte| byte ^ 0x36)).chain_update(message);
    let outer = Sha256::new().chain_update(padded.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// RFC 4231, test cases 1, 2 and 6.
    #[test]
    fn the_published_vectors() {
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(&hmac(&[0x0b; 20], b"Hi There")), expected);
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), expected);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        let long = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(hex(&hmac(&[0xaa; 131], long)), expected);
    }

    #[test]
    fn one_key_gives_one_pseudonym_and_damage_is_counted() {
        let place = Scratch::new();
        let (from, to) = (place.path("a.csv"), place.path("b.csv"));
        std::fs::write(place.path("key"), "0123456789abcdef\n").unwrap();
        let key = PseudonymKey::read(&place.path("key")).unwrap();
        std::fs::write(&from, "x,record_id\n 1.50 , ann \n2,bob\n").unwrap();
        assert_eq!(pseudonymise(&from, &to, "record_id", &key).unwrap(), 2);
        let text = std::fs::read_to_string(&to).unwrap();
        assert_eq!(text.lines().nth(1).unwrap(), format!(" 1.50 ,{}", key.pseudonym("ann")));
        assert_ne!(key.pseudonym("ann"), PseudonymKey(vec![1; 16]).pseudonym("ann"));
        for (csv, word) in [
            ("record_id\na\nb\na \n", "1 of 3 ids"),
            ("record_id,x\na,1\n,2\n", "row 2: no id"),
            ("id\na\n", "no column `record_id`"),
        ] {
            std::fs::write(&from, csv).unwrap();
            let error = pseudonymise(&from, &to, "record_id", &key).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&to).unwrap(), text, "what was there stays");
        std::fs::write(place.path("key"), "short").unwrap();
        assert!(PseudonymKey::read(&place.path("key")).is_err());
    }
}
