//! `rpc`: calls any method and prints its result.

use serde_json::{Map, Value};

use crate::client::session::Session;
use crate::failure::Failure;

pub(crate) fn rpc(session: &mut Session, method: &str, words: &[String]) -> Result<(), Failure> {
    let answer = session.ask(method, params(words)?)?;
    session.out.json(&answer)
}

/// One JSON object or list unchanged; `name=value` pairs as an object, for native methods; else a list, for
/// NZBGet's.
fn params(words: &[String]) -> Result<Value, Failure> {
    if let [word] = words
        && word.starts_with(['{', '['])
    {
        let not_json = |error| Failure::Usage(format!("the parameters are no JSON: {error}"));
        return serde_json::from_str(word).map_err(not_json);
    }
    let pairs: Option<Map<_, _>> = words.iter().map(|word| pair(word)).collect();
    Ok(match pairs {
        Some(pairs) => pairs.into(),
        None => words.iter().map(|word| value(word)).collect(),
    })
}

fn pair(word: &str) -> Option<(String, Value)> {
    let (key, text) = word.split_once('=')?;
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (key.to_owned(), value(text)))
}

/// JSON if it is that, else text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_read_in_every_form() {
        for (words, expected) in [
            (vec![], json!({})),
            (vec![r#"{"job": 7}"#], json!({ "job": 7 })),
            (vec!["[1, 2]"], json!([1, 2])),
            (vec!["job=7", "name=a b"], json!({ "job": 7, "name": "a b" })),
            (vec!["jobs=[1,2]", "x=null"], json!({ "jobs": [1, 2], "x": null })),
            (vec!["GroupPause", "0", "", "7"], json!(["GroupPause", 0, "", 7])),
            (vec!["https://x/?a=b"], json!(["https://x/?a=b"])),
        ] {
            let words: Vec<_> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(params(&words).unwrap(), expected);
        }
        assert!(params(&["{not json".to_owned()]).is_err());
    }
}
