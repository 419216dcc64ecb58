//! [`Session`]: one command with its connection to the daemon and its output; runs on the calling thread.

use std::io::{self, StdoutLock, Write};

use bergamot_rpc::{Client, Events};
use serde_json::Value;

use crate::client::endpoint::Endpoint;
use crate::failure::Failure;
use crate::terminal::style::Style;

#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
    place: Endpoint,
    pub(crate) out: Output,
}

/// Standard output, in the form that was asked for.
#[derive(Debug)]
pub(crate) struct Output {
    to: StdoutLock<'static>,
    pub(crate) form: Form,
    pub(crate) style: Style,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// What the daemon answers, unchanged.
    Json,
    Page,
    /// Ids and nothing else.
    Quiet,
}

impl Session {
    pub(crate) fn new(client: Client, place: Endpoint, form: Form, style: Style) -> Self {
        Self { client, place, out: Output { to: io::stdout().lock(), form, style } }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        Ok(self.client.call(method, params)?)
    }

    /// What happens from now on, over a connection of its own.
    pub(crate) fn events(&self) -> Result<Events, Failure> {
        Ok(self.place.connect()?.subscribe(None)?)
    }
}

impl Output {
    /// The response unchanged, or its page.
    pub(crate) fn answer(
        &mut self,
        answer: &Value,
        page: impl FnOnce(Style) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.json(answer),
            Form::Page => {
                let page = page(self.style)?;
                self.text(&page)
            }
            Form::Quiet => Ok(()),
        }
    }

    /// On one line for programs, indented for a terminal.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Failure> {
        let text = match self.style.width {
            Some(_) => serde_json::to_string_pretty(value)?,
            None => value.to_string(),
        };
        self.text(&format!("{text}\n"))
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.to.write_all(text.as_bytes())?;
        Ok(self.to.flush()?)
    }
}
