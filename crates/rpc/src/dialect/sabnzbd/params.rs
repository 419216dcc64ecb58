//! [`Params`]: the parameters of a request, from the query and the form, and an uploaded file.

use bergamot_types::JobId;

use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::multipart::{self, Part};
use crate::http::route::query_pairs;

/// Where a name is given twice, as in the query and in the form, the first one counts.
#[derive(Default)]
pub(super) struct Params {
    pairs: Vec<(String, String)>,
    pub(super) upload: Option<Upload>,
}

pub(super) struct Upload {
    pub(super) file_name: String,
    pub(super) content: Vec<u8>,
}

/// How a body is written.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Its boundary.
    Multipart(String),
    Urlencoded,
}

impl Form {
    /// Any other content type is read like a query: many clients send none.
    pub(super) fn of(content_type: Option<&str>) -> Self {
        match content_type.and_then(multipart::boundary) {
            Some(boundary) => Self::Multipart(boundary),
            None => Self::Urlencoded,
        }
    }
}

impl Params {
    pub(super) fn in_query(query: &str) -> Self {
        Self { pairs: query_pairs(query), upload: None }
    }

    /// With the fields of a form that have arrived so far.
    pub(super) fn with_fields(&self, form: &Form, body: &[u8]) -> Self {
        let mut pairs = self.pairs.clone();
        match form {
            Form::Multipart(boundary) => {
                let fields = multipart::parts(body, boundary);
                pairs.extend(fields.into_iter().filter_map(|part| field(part, body)));
            }
            Form::Urlencoded => pairs.extend(query_pairs(&String::from_utf8_lossy(body))),
        }
        Self { pairs, upload: None }
    }

    /// The whole form, with its file. The bytes stay where they are, for there may be many.
    pub(super) fn with_form(&self, form: &Form, mut body: Vec<u8>) -> Self {
        let mut params = self.with_fields(form, &body);
        if let Form::Multipart(boundary) = form {
            let mut files = multipart::parts(&body, boundary).into_iter();
            let is_upload = |part: &Part| UPLOADS.contains(&part.name.as_str());
            if let Some(Part { file_name: Some(file_name), content, .. }) =
                files.find(|part| part.file_name.is_some() && is_upload(part))
            {
                body.truncate(content.end);
                body.drain(..content.start);
                params.upload = Some(Upload { file_name, content: body });
            }
        }
        params
    }

    /// Empty where it is not given.
    pub(super) fn text(&self, name: &str) -> &str {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    pub(super) fn optional(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// `1` and words that mean it.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name).to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
    }

    pub(super) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.text(name).trim().parse().ok()
    }

    /// What most modes are about.
    pub(super) fn value(&self) -> Result<&str, SabError> {
        self.optional("value").ok_or(SabError::ExpectsOne)
    }

    pub(super) fn two_values(&self) -> Result<(&str, &str), SabError> {
        let both = self.optional("value").zip(self.optional("value2"));
        both.ok_or(SabError::ExpectsTwo)
    }

    /// Words of a list with commas.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        let parts = self.text(name).split(',').map(str::trim);
        parts.filter(|part| !part.is_empty()).take(MOST_IDS).collect()
    }
}

/// For tests that feed it anything at all.
pub(crate) fn read_form(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let form = Form::of(std::str::from_utf8(&bytes[..end]).ok());
    let params = Params::in_query("mode=addfile").with_form(&form, bytes[end..].to_vec());
    let _ = (jobs(&params.list("value")), params.two_values().is_ok());
}

/// Each of the jobs named once; what is no id names none.
pub(super) fn jobs(ids: &[&str]) -> Vec<JobId> {
    let mut jobs: Vec<JobId> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    jobs.extend(ids.iter().filter_map(|id| format::job_of(id)).filter(|job| seen.insert(job.0)));
    jobs
}

fn field(part: Part, body: &[u8]) -> Option<(String, String)> {
    let content = &body[part.content];
    let is_field = part.file_name.is_none() && content.len() <= LONGEST_FIELD;
    is_field.then(|| (part.name, String::from_utf8_lossy(content).into_owned()))
}

/// What the field of an NZB is called.
const UPLOADS: [&str; 2] = ["name", "nzbfile"];
/// Room for thousands of ids.
const LONGEST_FIELD: usize = 256 << 10;
/// As in the other dialects.
const MOST_IDS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_counts_before_the_form() {
        let params = Params::in_query("mode=queue&apikey=a%26b");
        let params = params.with_form(&Form::of(None), b"mode=history&value=x+y".to_vec());
        assert_eq!(
            [params.text("mode"), params.text("apikey"), params.text("value")],
            ["queue", "a&b", "x y"]
        );
        assert_eq!((params.text("nothing"), params.optional("nothing")), ("", None));
    }

    #[test]
    fn a_file_is_found_behind_which_the_key_comes() {
        let body = "--b\r\nContent-Disposition: form-data; name=\"nzbfile\"; filename=\"a.nzb\"\r\n\r\n<nzb/>\r\n\
            --b\r\nContent-Disposition: form-data; name=\"apikey\"\r\n\r\nkey\r\n--b--\r\n";
        let form = Form::of(Some("multipart/form-data; boundary=b"));
        let params = Params::default().with_form(&form, body.as_bytes().to_vec());
        assert_eq!(params.text("apikey"), "key");
        let upload = params.upload.expect("a file");
        assert_eq!(
            (upload.file_name.as_str(), upload.content.as_slice()),
            ("a.nzb", &b"<nzb/>"[..])
        );
    }

    #[test]
    fn ids_are_counted_once_and_bounded() {
        let ids = "SABnzbd_nzo_7, SABnzbd_nzo_8,x,SABnzbd_nzo_7";
        let params = Params::in_query(&format!("value={ids}"));
        assert_eq!(jobs(&params.list("value")), [JobId(7), JobId(8)]);
        let many = Params::in_query(&format!("value={}", "x,".repeat(MOST_IDS + 1)));
        assert_eq!(many.list("value").len(), MOST_IDS);
    }
}
