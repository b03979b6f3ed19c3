use std::env;
use std::io::Write;

use super::*;

/// A directory of its own for each test.
fn place(name: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("steffle-staged-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_directory_appears_when_committed() {
    let place = place("appears");
    let target = place.join("deep/er/run");
    let staged = Staged::directory(&target, false).unwrap();
    fs::write(staged.path().join("model"), "theta").unwrap();
    assert!(!target.exists());
    staged.commit().unwrap();
    assert_eq!(names(&target), ["model"]);
    assert_eq!(names(target.parent().unwrap()), ["run"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn what_is_not_committed_leaves_nothing() {
    let place = place("dropped");
    let staged = Staged::directory(&place.join("new/run"), false).unwrap();
    fs::write(staged.path().join("model"), "half").unwrap();
    drop(staged);
    let (staged, mut file) = Staged::file(&place.join("labels.csv")).unwrap();
    file.write_all(b"half").unwrap();
    drop((staged, file));
    assert_eq!(names(&place), [] as [&str; 0]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn only_files_are_replaced_by_files() {
    let place = place("kinds");
    fs::create_dir(place.join("directory")).unwrap();
    let device = cfg!(unix).then(|| PathBuf::from("/dev/null"));
    for target in [place.join("directory")].into_iter().chain(device) {
        assert_eq!(Staged::file(&target).unwrap_err().code, "steffle::data::occupied");
    }
    fs::write(place.join("old.csv"), "old").unwrap();
    let (staged, mut file) = Staged::file(&place.join("old.csv")).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(place.join("old.csv")).unwrap(), b"old");
    staged.commit().unwrap();
    assert_eq!(fs::read(place.join("old.csv")).unwrap(), b"new");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn directories_that_others_use_stay() {
    let place = place("shared");
    let first = Staged::directory(&place.join("runs/a"), false).unwrap();
    let second = Staged::directory(&place.join("runs/b"), false).unwrap();
    drop(first);
    second.commit().unwrap();
    assert_eq!(names(&place.join("runs")), ["b"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn one_writer_at_a_time() {
    let place = place("busy");
    let first = Staged::directory(&place.join("run"), false).unwrap();
    let second = Staged::directory(&place.join("run"), false).unwrap_err();
    assert_eq!(second.code, BUSY);
    first.commit().unwrap();
    assert_eq!(names(&place), ["run"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_directory_is_replaced_only_when_asked_for() {
    let place = place("replaced");
    let target = place.join("run");
    for (content, replace) in [("first", false), ("second", true), ("third", false)] {
        let staged = Staged::directory(&target, replace).unwrap();
        fs::write(staged.path().join(content), "").unwrap();
        assert_eq!(staged.commit().is_ok(), content != "third");
    }
    assert_eq!(names(&target), ["second"]);
    assert_eq!(names(&place), ["run"]);
    fs::remove_dir_all(place).unwrap();
}
