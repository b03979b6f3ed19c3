//! One number for everything that was agreed.

use sha2::{Digest, Sha256};

use super::Schema;
use crate::recipe::Missing;

impl Schema {
    /// SHA-256 over a canonical form: equal for equal agreements, on every machine.
    pub fn hash(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        let mut put = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        let recipe = self.recipe();
        match &self.0.small_strata {
            None => put(b"steffle schema 1"),
            Some(small) => {
                put(b"steffle schema 1, small strata");
                put_all(&mut put, &small.values);
                put(&small.rows.to_le_bytes());
                put(&small.below.to_le_bytes());
                put(&[u8::from(small.pooled)]);
            }
        }
        put(recipe.label.as_bytes());
        put_all(&mut put, &self.0.labels);
        put(&self.0.favourable.to_le_bytes());
        put(&recipe.threshold.map_or([0; 8], |value| value.to_bits().to_le_bytes()));
        put_all(&mut put, &recipe.sensitive);
        put_all(&mut put, &self.0.classes);
        put(recipe.stratum.as_deref().unwrap_or_default().as_bytes());
        put_all(&mut put, &self.0.strata);
        put(recipe.unit.as_deref().unwrap_or_default().as_bytes());
        put(&[match recipe.missing {
            Missing::Drop => 0,
            Missing::Category => 1,
            Missing::Impute => 2,
        }]);
        put(&(self.0.numeric.len() as u64).to_le_bytes());
        for column in &self.0.numeric {
            put(column.name.as_bytes());
            put(&column.centre.to_bits().to_le_bytes());
            put(&column.scale.to_bits().to_le_bytes());
        }
        put(&(self.0.categorical.len() as u64).to_le_bytes());
        for column in &self.0.categorical {
            put(column.name.as_bytes());
            put_all(&mut put, &column.levels);
        }
        put(&(recipe.merges.len() as u64).to_le_bytes());
        for (column, names) in &recipe.merges {
            put(column.as_bytes());
            let flat: Vec<String> =
                names.iter().flat_map(|(old, new)| [old.clone(), new.clone()]).collect();
            put_all(&mut put, &flat);
        }
        hasher.finalize().into()
    }
}

fn put_all(put: &mut impl FnMut(&[u8]), names: &[String]) {
    put(&(names.len() as u64).to_le_bytes());
    for name in names {
        put(name.as_bytes());
    }
}
