//! `append` and `appendurl`: adds an NZB, with both parameter orders that clients use.

use std::borrow::Cow;

use bergamot_api::Control;
use bergamot_api::request::{Content, NewJob};
use bergamot_api::view::{DupeMode, Parameter};
use bergamot_api::wire::is_password;
use bergamot_types::Secret;

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::arguments::{Arguments, Scalar};

pub(crate) async fn append<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    // Only in NZBGet 12 is the third value a number or a flag; its clients expect a flag back.
    if !matches!(arguments.peek(2), None | Some(Scalar::Text(_))) {
        let new = in_order_of_12(&mut arguments)?;
        call.control.add(new).await?;
        return call.done();
    }
    let new = in_order_of_16(&mut arguments)?;
    let job = call.control.add(new).await?;
    call.answer(&job.0)
}

pub(crate) async fn append_url<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let new = in_order_of_12(&mut arguments)?;
    let job = call.control.add(new).await?;
    call.answer(&job.0)
}

fn in_order_of_16(arguments: &mut Arguments<'_>) -> Result<NewJob, Fault> {
    let name = arguments.text("NZBFilename")?;
    let content = arguments.text("Content")?;
    let mut new = new_job(&name, &content)?;
    drop(content);
    new.category = bounds::category(&arguments.optional_text().unwrap_or_default())?;
    new.priority = Some(bounds::priority(arguments.integer_or("Priority", 0)?));
    new.at_top = arguments.bool_or("AddToTop", false)?;
    read_rest(&mut new, arguments)?;
    Ok(new)
}

fn in_order_of_12(arguments: &mut Arguments<'_>) -> Result<NewJob, Fault> {
    let name = arguments.text("NZBFilename")?;
    let category = arguments.text("Category")?;
    let priority = match arguments.peek(0) {
        Some(Scalar::Bool(_)) => 0, // it may be left out
        _ => arguments.integer("Priority")?,
    };
    let at_top = arguments.bool("AddToTop")?;
    let mut new = new_job(&name, &arguments.text("Content")?)?;
    new.category = bounds::category(&category)?;
    new.priority = Some(bounds::priority(priority));
    new.at_top = at_top;
    read_rest(&mut new, arguments)?;
    Ok(new)
}

fn new_job(name: &str, content: &str) -> Result<NewJob, Fault> {
    let content = if bounds::has_scheme(content) {
        Content::Url(bounds::url(content)?)
    } else {
        Content::Nzb(bounds::base64(content)?)
    };
    Ok(NewJob {
        name: bounds::name(name)?,
        content,
        category: None,
        priority: None,
        at_top: false,
        paused: false,
        dupe_key: String::new(),
        dupe_score: 0,
        dupe_mode: DupeMode::Score,
        password: None,
        parameters: Vec::new(),
        auto_category: false,
    })
}

/// What both orders end with.
fn read_rest(new: &mut NewJob, arguments: &mut Arguments<'_>) -> Result<(), Fault> {
    new.paused = arguments.bool_or("AddPaused", false)?;
    new.dupe_key = bounds::dupe_key(&arguments.optional_text().unwrap_or_default())?;
    let score = arguments.integer_or("DupeScore", 0)?;
    new.dupe_score = score.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    if let Some(mode) = arguments.optional_text() {
        new.dupe_mode = dupe_mode(&mode)?;
    }
    if let Some(Scalar::Bool(_)) = arguments.peek(0) {
        new.auto_category = arguments.bool("AutoCategory")?;
    }
    let mut parameters: Vec<Parameter> = Vec::new();
    while let Some(name) = arguments.optional_text() {
        let value = arguments.text("the value of the last parameter")?.into_owned();
        put_parameter(&mut parameters, name, value);
    }
    // It opens archives, so it is kept where no listing shows it.
    let password = parameters.iter().position(|parameter| is_password(&parameter.name));
    new.password = password.map(|place| Secret::new(parameters.remove(place).value));
    new.parameters = bounds::parameters(parameters)?;
    Ok(())
}

/// The later one counts, for clients fail on a name that occurs twice.
fn put_parameter(list: &mut Vec<Parameter>, name: Cow<'_, str>, value: String) {
    match list.iter_mut().find(|parameter| parameter.name == name) {
        Some(parameter) => parameter.value = value,
        None => list.push(Parameter { name: name.into_owned(), value }),
    }
}

pub(super) fn dupe_mode(text: &str) -> Result<DupeMode, Fault> {
    match text.to_ascii_lowercase().as_str() {
        "" | "score" => Ok(DupeMode::Score),
        "all" => Ok(DupeMode::All),
        "force" => Ok(DupeMode::Force),
        _ => Err(Fault::parameter("DupeMode is none of SCORE, ALL and FORCE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::Json;

    fn read(json: &str) -> NewJob {
        let arguments = Json::parse(json.as_bytes()).expect("the test is right");
        let mut arguments = Arguments::flattened(arguments).expect("few enough");
        let of_12 = !matches!(arguments.peek(2), None | Some(Scalar::Text(_)));
        let new =
            if of_12 { in_order_of_12(&mut arguments) } else { in_order_of_16(&mut arguments) };
        let new = new.expect(json);
        assert!(arguments.is_empty(), "{json}");
        new
    }

    #[test]
    fn every_order_and_every_form_of_parameters_is_understood() {
        for tail in [
            r#"["drone","x"]"#,
            r#""drone","x""#,
            r#"[["drone","x"]]"#,
            r#"[{"Name":"drone","Value":"x"}]"#,
            r#"{"Name":"drone","Value":"x"}"#,
            r#"false,[["drone","x"]]"#,
        ] {
            let new =
                read(&format!(r#"["a.nzb","PG56Yi8+","tv",50,true,false,"key",7,"all",{tail}]"#));
            assert_eq!(new.name, "a.nzb");
            assert!(matches!(&new.content, Content::Nzb(bytes) if bytes == b"<nzb/>"));
            assert_eq!((new.category.as_deref(), new.priority), (Some("tv"), Some(50)));
            assert_eq!((new.at_top, new.paused, new.auto_category), (true, false, false));
            assert_eq!((new.dupe_key.as_str(), new.dupe_score), ("key", 7));
            assert_eq!(new.dupe_mode, DupeMode::All);
            let drone = Parameter { name: "drone".to_owned(), value: "x".to_owned() };
            assert_eq!(new.parameters, [drone], "{tail}");
        }
    }

    #[test]
    fn the_order_of_version_12_is_told_by_its_third_value() {
        for json in [r#"["a.nzb","tv",0,true,"PG56Yi8+"]"#, r#"["a.nzb","tv",true,"PG56Yi8+"]"#] {
            let new = read(json);
            assert_eq!((new.category.as_deref(), new.at_top), (Some("tv"), true), "{json}");
            assert!(matches!(new.content, Content::Nzb(_)));
        }
    }

    #[test]
    fn passwords_are_not_shown_as_parameters() {
        let new = read(
            r#"["","https://x/y?apikey=1","",0,false,true,"",0,"SCORE","*Unpack:Password","hush","a","1","a","2"]"#,
        );
        assert!(
            matches!(&new.content, Content::Url(url) if url.reveal() == "https://x/y?apikey=1")
        );
        assert_eq!(new.password.map(|secret| secret.reveal().to_owned()), Some("hush".to_owned()));
        assert_eq!(new.parameters, [Parameter { name: "a".to_owned(), value: "2".to_owned() }]);
    }
}
