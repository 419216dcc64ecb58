//! [`Parameters`]: key-value pairs that clients attach to a job.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Names with their values, in the order they were given. Each name is there once.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Vec<(Arc<str>, Box<str>)>")]
pub struct Parameters(Vec<(Arc<str>, Box<str>)>);

impl Parameters {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    /// A name that is known keeps its place.
    pub fn set(&mut self, name: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, known)) => *known = value.into(),
            None => self.0.push((name.into(), value.into())),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| **known != *name);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names_mut(&mut self) -> impl Iterator<Item = &mut Arc<str>> {
        self.0.iter_mut().map(|(name, _)| name)
    }
}

impl From<Vec<(Arc<str>, Box<str>)>> for Parameters {
    /// Of two with one name the later holds.
    fn from(pairs: Vec<(Arc<str>, Box<str>)>) -> Self {
        let mut parameters = Self(Vec::with_capacity(pairs.len()));
        pairs.iter().for_each(|(name, value)| parameters.set(name, value));
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_places_and_are_there_once() {
        let mut parameters = Parameters::default();
        for (name, value) in [("b", "1"), ("a", "2"), ("b", "3"), ("c", "")] {
            parameters.set(name, value);
        }
        parameters.remove("c");
        assert_eq!(parameters.iter().collect::<Vec<_>>(), [("b", "3"), ("a", "2")]);
        assert_eq!((parameters.get("a"), parameters.get("c")), (Some("2"), None));
        let doubled = r#"[["b","1"],["a","2"],["b","3"]]"#;
        assert_eq!(serde_json::from_str::<Parameters>(doubled).unwrap(), parameters);
    }
}
