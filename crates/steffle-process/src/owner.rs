//! Whose record it is, in words that tell nothing about the data.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use steffle_masks::hash;

use crate::masks::{new_file, private, random, sync_folder};

/// The file with the key, beside the records.
const KEY: &str = "record.key";

/// Returns what the first frame of a record says about the data that it is about: a hash under a key that
/// stays in the folder. Without the key, nobody can test a guess of the data, or of one sensitive value,
/// against a record.
pub(crate) fn owner(folder: &Path, holding: &[u8; 32]) -> io::Result<[u8; 32]> {
    let key = match read(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(folder)?;
            read(folder)?
        }
        key => key?,
    };
    Ok(hash(&[b"steffle record 1", &key, holding]))
}

fn read(folder: &Path) -> io::Result<[u8; 32]> {
    let path = folder.join(KEY);
    let file = fs::File::open(&path)?;
    private(&path, &file).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    file.take(64).read_to_end(&mut bytes)?;
    <[u8; 32]>::try_from(&bytes[..]).map_err(|_| {
        io::Error::other(format!(
            "{KEY} has {} bytes in place of 32; remove it, and runs begin anew",
            bytes.len()
        ))
    })
}

/// Makes the key. A process beside this one may be faster: then its key stands.
fn create(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(KEY);
    let key = random::<32>()
        .ok_or_else(|| io::Error::other("the operating system gives no random numbers"))?;
    let whole = folder.join(format!("{KEY}.{}", std::process::id()));
    // A process that was killed may have left one.
    let _ = fs::remove_file(&whole);
    let mut file = new_file(&whole)?;
    let written = file.write_all(&key).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| fs::hard_link(&whole, &path));
    fs::remove_file(&whole)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked.and_then(|()| sync_folder(&path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_told_by_a_key_that_stays_in_its_folder() {
        let place = std::env::temp_dir().join(format!("steffle-owner-{}", std::process::id()));
        let (own, other) = (place.join("own"), place.join("other"));
        let holding = [7; 32];
        let first = owner(&own, &holding).unwrap();
        assert_eq!(owner(&own, &holding).unwrap(), first, "the next process");
        assert_ne!(owner(&own, &[8; 32]).unwrap(), first, "other data");
        // Who knows all of the data, and not the key, cannot tell that the record is about them.
        assert_ne!(owner(&other, &holding).unwrap(), first);
        assert_ne!(first, holding);
        let names: Vec<_> = fs::read_dir(&own).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, [KEY]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&own.join(KEY)), 0o600);
            fs::set_permissions(own.join(KEY), fs::Permissions::from_mode(0o644)).unwrap();
            assert!(owner(&own, &holding).is_err(), "others may read it");
            fs::set_permissions(own.join(KEY), fs::Permissions::from_mode(0o600)).unwrap();
        }
        fs::write(own.join(KEY), b"short").unwrap();
        assert!(owner(&own, &holding).unwrap_err().to_string().contains("5 bytes"));
        fs::remove_dir_all(&place).unwrap();
    }
}
