//! Around the door: names, ids, lists and files that an adversary chooses. Each test is a way in which s
//! was once read, or a budget not charged, without a question that the door could have priced.

mod attacks;
mod lists;
mod names;
