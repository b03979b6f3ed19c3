//! What a site says about itself before a run, and whether that is what the job says.

use serde::{Deserialize, Serialize};

use crate::recipe::{Missing, Recipe};
use crate::schema::{Schema, Summary};
use crate::{Error, SiteError};

/// What a site declares: names that are agreed, and a summary of its columns. Nothing of it is
/// computed from s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// Its name; none for a part of a job that was cut on one machine.
    pub site: Option<String>,
    label: String,
    labels: Vec<String>,
    favourable: Option<String>,
    sensitive: Vec<String>,
    classes: Vec<String>,
    unit: Option<String>,
    #[serde(default)]
    pub(super) record_id: Option<String>,
    stratum: Option<String>,
    missing: Missing,
    /// Of its records; none where it has attributes alone.
    pub summary: Option<Summary>,
    /// The largest number of rows about one person.
    pub largest_unit: usize,
    /// Rows left out for missing values.
    pub dropped: usize,
}

impl Declared {
    /// What a recipe declares.
    pub(super) fn of(site: Option<String>, recipe: &Recipe) -> Self {
        let recipe = recipe.clone();
        Self {
            site,
            label: recipe.label,
            labels: recipe.labels,
            favourable: recipe.favourable,
            sensitive: recipe.sensitive,
            classes: recipe.classes,
            unit: recipe.unit,
            record_id: recipe.record_id,
            stratum: recipe.stratum,
            missing: recipe.missing,
            summary: None,
            largest_unit: 0,
            dropped: 0,
        }
    }

    /// Reads what a site sent.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// Refuses a site that declares something else than `recipe`, by the field.
    pub fn agrees(&self, recipe: &Recipe) -> Result<(), Error> {
        let word = |text: &Option<String>| text.clone().into_iter().collect::<Vec<_>>();
        let one = |text: &String| vec![text.clone()];
        let mut fields = vec![
            ("sensitive", self.sensitive.clone(), recipe.sensitive.clone()),
            ("classes", self.classes.clone(), recipe.classes.clone()),
        ];
        // Organisations may call their ids differently; a job that names a column means it.
        if recipe.record_id.is_some() {
            fields.push(("record_id", word(&self.record_id), word(&recipe.record_id)));
        }
        if self.summary.is_some() {
            let missing = |missing| vec![format!("{missing:?}").to_lowercase()];
            fields.extend([
                ("label", one(&self.label), one(&recipe.label)),
                ("unit", word(&self.unit), word(&recipe.unit)),
                ("stratum", word(&self.stratum), word(&recipe.stratum)),
                ("missing", missing(self.missing), missing(recipe.missing)),
            ]);
            // Where the job leaves them open, those that silos have are put together.
            if !recipe.labels.is_empty() {
                fields.push(("labels", self.labels.clone(), recipe.labels.clone()));
            }
            if self.favourable.is_some() && recipe.favourable.is_some() {
                fields.push(("favourable", word(&self.favourable), word(&recipe.favourable)));
            }
        }
        for (field, own, agreed) in fields {
            if own != agreed {
                return Err(SiteError::Otherwise { field, own, agreed }.into());
            }
        }
        Ok(())
    }

    /// Refuses a schema that means something else than the site declared, or that names a column which
    /// the site does not offer in that role.
    pub(super) fn accepts(&self, schema: &Schema) -> Result<(), Error> {
        let mut agreed = schema.recipe().clone();
        agreed.classes = schema.classes().to_vec();
        agreed.labels = schema.labels().to_vec();
        let mut own = self.clone();
        // What a site leaves open, it takes from the schema.
        for (list, said) in [(&mut own.labels, &agreed.labels), (&mut own.classes, &agreed.classes)]
        {
            if list.is_empty() {
                list.clone_from(said);
            }
        }
        own.agrees(&agreed)?;
        self.summary.as_ref().map_or(Ok(()), |summary| summary.offers(schema))
    }
}
