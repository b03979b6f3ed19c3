//! Text that comes from elsewhere: every field of a message, job, schema or run directory that can hold a
//! name, a path or bytes, and what is done before it is looked up. A field that is new fails here until
//! somebody says which check has seen it.
#![allow(clippy::unwrap_used)] // a test that cannot read the sources has to fail

use std::collections::BTreeMap;
use std::path::Path;

/// Where text from elsewhere is declared: folders and files below `crates`.
const DECLARED: [&str; 9] = [
    "steffle-wire/src",
    "steffle-privacy/src/ledger/offer.rs",
    "steffle-data/src/recipe/mod.rs",
    "steffle-data/src/table/dialect.rs",
    "steffle-data/src/schema/mod.rs",
    "steffle-data/src/schema/strata.rs",
    "steffle-data/src/schema/measures.rs",
    "steffle-data/src/parts/declared.rs",
    "steffle-data/src/parts/job.rs",
];

/// Fields, and the check that every one of them meets.
const SEEN: [(&str, &str); 70] = [
    (
        "Agreed.classes",
        "equal to the site's own, or the ledger's (Declared::accepts, schema_of_store)",
    ),
    ("Agreed.labels", "equal to the site's own (Declared::accepts)"),
    ("Agreed.strata", "values of an open column; one that is not agreed on is in no cell (encode)"),
    ("Answer.reply", "bytes of a node, parsed by the server as any message"),
    ("Categorical.levels", "values of an open column that the site offers (Summary::offers)"),
    (
        "Categorical.name",
        "no other role (check_features), and offered by the site (Summary::offers)",
    ),
    ("CodecError.expected", "an error's own words, never sent"),
    ("CodecError.found", "an error's own words, never sent"),
    ("CodecError.message", "words about the bytes of a message"),
    ("Declared.classes", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.favourable", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.label", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.labels", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.record_id", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.sensitive", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.site", "what a site says of itself; the lead compares it with the roster"),
    ("Declared.stratum", "what a site says of itself; the lead compares it (Declared::agrees)"),
    ("Declared.unit", "what a site says of itself; the lead compares it (Declared::agrees)"),
    (
        "Described.hello",
        "a signed hello, checked against the roster of pinned keys (Greeting::meet)",
    ),
    ("Described.summary", "read as Declared by the lead; a site reads none"),
    ("Dialect.columns", "the owner's own: a schema's dialect does not keep it (Dialect::lasting)"),
    ("Dialect.date_columns", "ids and units are refused in it (Recipe::check_roles), s is sealed"),
    ("Dialect.decimal_comma", "ids and units are refused in it (Recipe::check_roles), s is sealed"),
    ("Dialect.missing_markers", "a marker makes a cell missing; an id must not be (ids_of)"),
    ("Dialect.sealed", "never read from elsewhere (serde skips it)"),
    ("Dialect.verbatim", "never read from elsewhere (serde skips it)"),
    ("Job.attributes", "a path of the job's own machine; `steffle server` refuses it"),
    ("Job.centralisation", "one of four words (check_centralisation)"),
    ("Job.records", "a path of the job's own machine; `steffle server` refuses it"),
    ("Job.silos", "a path of the job's own machine; `steffle server` refuses it"),
    ("Job.test", "for `steffle server` a name in the lead's own file, else a path of one's own"),
    ("Job.train", "known settings only; `steffle server` refuses those that name files"),
    ("Join.model", "one of the models' names (ModelKind::from_str)"),
    ("Join.schema", "Schema::try_from, then Declared::accepts"),
    (
        "Letter.bytes",
        "sender, run and schema are checked, signed where keys are pinned (Party::receive)",
    ),
    ("Loaded.missing", "read from one's own files"),
    ("Loaded.reading", "read from one's own files"),
    ("Loaded.warnings", "read from one's own files"),
    ("Lost.why", "words for the lead's own log"),
    ("Measure.column", "looked up in the site's open summary alone (Measures::part)"),
    ("Measures.strata", "looked up in the site's open summary alone (Measures::part)"),
    ("Meet.columns", "read as Measures, looked up in the open summary alone"),
    ("Meet.hellos", "signed hellos, checked against the roster of pinned keys (Greeting::meet)"),
    ("Member.name", "compared with what the site calls itself"),
    ("Member.silo", "a path of the job's own machine; `steffle server` refuses it"),
    ("Numeric.name", "no other role (check_features), and offered by the site (Summary::offers)"),
    ("Offer.method", "binds the messages that are paid for (Policy, Allows)"),
    ("Offer.mode", "compared with the claim and the terms (Policy, Allows)"),
    ("Offer.notion", "compared with the scores that are asked about (Allows)"),
    ("Offer.run", "a name in the book, no path"),
    ("Recipe.categorical", "columns of an open table (roles::check)"),
    (
        "Recipe.classes",
        "equal to the site's own, or the ledger's (Declared::accepts, recipe_of_store)",
    ),
    ("Recipe.drop", "columns of an open table (roles::check)"),
    ("Recipe.favourable", "one of the labels (favourable)"),
    ("Recipe.keep", "columns of an open table (roles::check)"),
    ("Recipe.label", "not sensitive, no id, no unit (Recipe::check_roles)"),
    ("Recipe.labels", "equal to the site's own (Declared::accepts)"),
    ("Recipe.merges", "ids and units are refused in it (Recipe::check_roles)"),
    ("Recipe.partition_by", "not sensitive in a run that claims privacy (Recipe::check_private)"),
    (
        "Recipe.record_id",
        "equal to the site's own, or the ledger's (Declared::accepts, recipe_of_store)",
    ),
    (
        "Recipe.sensitive",
        "equal to the site's own, or the ledger's (Declared::accepts, recipe_of_store)",
    ),
    ("Recipe.stratum", "not sensitive (Recipe::check_roles)"),
    (
        "Recipe.unit",
        "equal to the site's own, or the ledger's (Declared::accepts, recipe_of_store)",
    ),
    ("Refused.code", "a node's own code, from the list that told.rs decides about"),
    ("Refused.text", "words from a list, or of the question alone (told)"),
    ("Round.noise", "numbers of the paper's noise; refused where something is claimed"),
    ("Round.question", "numbers, bounded before they are used (bounds.rs)"),
    ("Scores.name", "one of the names that a node can build (BuildScores)"),
    (
        "SmallStrata.values",
        "values of an open column; one that is not agreed on is in no cell (encode)",
    ),
    ("Writer.bytes", "bytes on their way out"),
];

/// Struct fields of a source that can hold text or bytes, as `Type.field`.
fn fields(source: &str, found: &mut BTreeMap<String, String>) {
    let mut item: Option<(String, usize)> = None;
    let mut depth = 0;
    for line in source.split("#[cfg(test)]").next().unwrap().lines() {
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with("#[") {
            continue;
        }
        let declared = ["pub struct ", "struct ", "pub(crate) struct ", "pub enum ", "enum "];
        if let Some(rest) = declared.iter().find_map(|word| code.strip_prefix(word)) {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            if code.ends_with('{') {
                item = Some((name, depth));
            } else if holds_text(code) {
                found.insert(name.clone() + ".0", code.to_owned());
            }
        }
        depth += code.matches('{').count();
        depth -= code.matches('}').count().min(depth);
        if let Some((name, begun)) = &item {
            if depth <= *begun {
                item = None;
            } else if let Some((field, kind)) = code.split_once(": ")
                && holds_text(kind)
            {
                let field = field.rsplit(' ').next().unwrap();
                found.insert(format!("{name}.{field}"), code.to_owned());
            }
        }
    }
}

fn holds_text(kind: &str) -> bool {
    ["String", "PathBuf", "Vec<u8>", "Cow<", "toml::"].iter().any(|word| kind.contains(word))
}

fn sources(path: &Path, found: &mut BTreeMap<String, String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with("tests") && !path.ends_with("tests.rs") {
                sources(&path, found);
            }
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        fields(&std::fs::read_to_string(path).unwrap(), found);
    }
}

#[test]
fn every_name_from_elsewhere_has_met_a_check() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    DECLARED.iter().for_each(|place| sources(&crates.join(place), &mut found));
    let seen: BTreeMap<&str, &str> = SEEN.into_iter().collect();
    let new: Vec<&String> =
        found.keys().filter(|field| !seen.contains_key(field.as_str())).collect();
    assert!(new.is_empty(), "text from elsewhere that no check has seen: {new:#?}");
    let gone: Vec<&&str> = seen.keys().filter(|field| !found.contains_key(**field)).collect();
    assert!(gone.is_empty(), "checked, and not there any more: {gone:?}");
    assert!(seen.values().all(|check| check.len() > 10));
}
