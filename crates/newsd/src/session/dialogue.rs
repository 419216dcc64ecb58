//! [`Dialogue`]: which answer a command gets.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::faults::Rule;
use crate::faults::fault::{Fault, Stage};
use crate::faults::manners::{Capabilities, Login};
use crate::posts::newsgroups::{Header, Numbers};
use crate::session::Output;
use crate::session::command::{Command, Target};
use crate::session::delivery::{Form, deliver};
use crate::session::outbox::Outbox;
use crate::session::site::Site;

/// What a server remembers of one reader.
#[derive(Debug)]
pub(crate) struct Dialogue {
    site: Arc<Site>,
    fault: Option<Rule>, // of the connection as such
    reader: bool,        // reader commands are open
    login_due: bool,
    user: Option<String>,
    tls: bool,
    admitted: bool, // not one connection too many
    compressed: bool,
    selected: Option<String>,
    in_group: bool, // also where the group has no headers
}

impl Dialogue {
    /// Begins with the greeting, or what stands in its place. `nth` is how many connections came
    /// before.
    pub(crate) fn begin(site: Arc<Site>, nth: u32, outbox: &mut Outbox) -> Self {
        let manners = &site.manners;
        let fault = site.faults.for_nth(Stage::Connect, nth).cloned();
        let admitted = site.tally.admit(manners.connections.unwrap_or(u32::MAX));
        match &fault {
            Some(rule) if rule.fault() == Fault::NeverGreeted => {
                site.tally.fire(rule.fault());
                outbox.silence();
            }
            Some(rule)
                if matches!(rule.fault(), Fault::GreetingRefused | Fault::TooManyConnections) =>
            {
                site.tally.fire(rule.fault());
                outbox.line(rule.line());
                outbox.act(Output::Close);
            }
            _ if !admitted && !manners.too_many_at_login => refuse_one_too_many(&site, outbox),
            _ => outbox.line(&manners.greeting),
        }
        let (reader, login_due) = (!manners.transit, manners.login.is_some());
        Self {
            site,
            fault,
            reader,
            login_due,
            user: None,
            tls: false,
            admitted,
            compressed: false,
            selected: None,
            in_group: false,
        }
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.admitted
    }

    /// A new layer of TLS: what was said in plain text no longer counts (RFC 4642, section 2.2.2).
    pub(crate) fn handle_tls(&mut self) {
        self.tls = true;
        self.user = None;
        self.login_due = self.site.manners.login.is_some();
    }

    pub(crate) fn answer(&mut self, command: Command<'_>, outbox: &mut Outbox) {
        match command {
            Command::AuthPassword(password) => self.on_password(password, outbox),
            Command::AuthUser(user) => self.on_user(user, outbox),
            Command::Capabilities => self.on_capabilities(outbox),
            Command::ModeReader => {
                self.reader = true;
                outbox.line("200 Reader mode, posting permitted");
            }
            Command::Quit => {
                outbox.line("205 Bye");
                outbox.act(Output::Close);
            }
            Command::StartTls => self.on_start_tls(outbox),
            Command::Unknown => outbox.line("500 What?"),
            _ if !self.reader => outbox.line("401 MODE-READER"),
            _ if self.login_due => outbox.line("480 Authentication required"),
            Command::Article(_) | Command::Body(_) | Command::Stat(_)
                if self.site.manners.needs_group && !self.in_group =>
            {
                outbox.line("412 No newsgroup selected");
            }
            Command::Article(target) => self.on_article(Form::Article, target, outbox),
            Command::Body(target) => self.on_article(Form::Body, target, outbox),
            Command::Compress(method) => self.on_compress(method, outbox),
            Command::Date => outbox.line(&format!("111 {}", self.site.manners.date)),
            Command::Group(name) => self.on_group(name, outbox),
            Command::Hdr(..) | Command::Over(_) if self.site.manners.only_xover => {
                outbox.line("500 What?");
            }
            Command::Hdr(field, range) => self.on_header(field, range, outbox),
            Command::Head(target) => self.on_head(target, outbox),
            Command::ListActive(pattern) => self.on_list(pattern, outbox, |name, numbers| {
                format!("{name} {} {} y", numbers.last, numbers.first)
            }),
            Command::ListNewsgroups(pattern) => {
                self.on_list(pattern, outbox, |name, _| format!("{name}\tWhat {name} is about"));
            }
            Command::Over(range) | Command::Xover(range) => self.on_over(range, outbox),
            Command::Stat(target) => {
                if let Some(id) = self.found(target, outbox) {
                    outbox.line(&format!("223 0 <{id}>"));
                }
            }
        }
    }

    fn on_article(&mut self, form: Form, target: Target<'_>, outbox: &mut Outbox) {
        let site = Arc::clone(&self.site);
        let Target::Id(id) = target else { return no_article(target, outbox) };
        if !site.articles.contains(id) {
            return no_article(target, outbox);
        }
        let asked = site.tally.ask(id);
        let rule = site.faults.for_article(id, asked, site.tally.all_served());
        if rule.is_some_and(|rule| rule.fault() == Fault::LoginAgain) {
            self.login_due = true;
        }
        deliver(&site, form, id, site.faults.die(id, asked), rule, outbox);
    }

    fn on_head(&self, target: Target<'_>, outbox: &mut Outbox) {
        if let Some(id) = self.found(target, outbox) {
            let headers = self.site.headers(id);
            outbox.bytes(format!("221 0 <{id}>\r\n{headers}.\r\n").into_bytes());
        }
    }

    /// The id of an article that is here and not struck by [`Fault::Missing`]; other faults wait
    /// for the body, as `STAT` proves nothing on a real server either.
    fn found<'a>(&self, target: Target<'a>, outbox: &mut Outbox) -> Option<&'a str> {
        let Target::Id(id) = target else {
            no_article(target, outbox);
            return None;
        };
        let asked = self.site.tally.asked(id);
        let rule = self.site.faults.for_article(id, asked, self.site.tally.all_served());
        if !self.site.articles.contains(id) {
            no_article(target, outbox);
            return None;
        }
        match rule.filter(|rule| rule.fault() == Fault::Missing) {
            Some(rule) => {
                self.site.tally.fire(Fault::Missing);
                outbox.line(rule.line());
                None
            }
            None => Some(id),
        }
    }

    fn on_compress(&mut self, method: &str, outbox: &mut Outbox) {
        if !self.site.manners.compress || !method.eq_ignore_ascii_case("DEFLATE") {
            return outbox.line("503 Not offered");
        }
        if self.compressed {
            return outbox.line("502 Compressed already");
        }
        self.compressed = true;
        outbox.line("206 Compression active");
        outbox.act(Output::StartDeflate);
    }

    fn on_over(&self, range: &str, outbox: &mut Outbox) {
        let lines = |(number, header): &(u64, Header)| Some(header.overview(*number));
        self.list_headers("224 Overview follows", range, outbox, lines);
    }

    fn on_header(&self, field: &str, range: &str, outbox: &mut Outbox) {
        let lines = |(number, header): &(u64, Header)| {
            header.field(field).map(|text| format!("{number} {text}"))
        };
        self.list_headers("225 Headers follow", range, outbox, lines);
    }

    fn list_headers(
        &self,
        status: &str,
        range: &str,
        outbox: &mut Outbox,
        line: impl Fn(&(u64, Header)) -> Option<String>,
    ) {
        let Some(group) = &self.selected else { return outbox.line("412 Which group?") };
        let Some(range) = parse_range(range) else { return outbox.line("501 Which articles?") };
        let headers = self.site.manners.newsgroups.headers(group, range);
        if headers.is_empty() {
            return outbox.line("423 No articles in that range");
        }
        outbox.list(status, headers.iter().filter_map(line));
    }

    fn on_list(&self, pattern: &str, outbox: &mut Outbox, line: impl Fn(&str, Numbers) -> String) {
        let pattern = if pattern.is_empty() { "*" } else { pattern };
        let groups = self.site.manners.newsgroups.list(pattern);
        outbox.list("215 List follows", groups.iter().map(|(name, numbers)| line(name, *numbers)));
    }

    fn on_group(&mut self, name: &str, outbox: &mut Outbox) {
        if let Some(Numbers { count, first, last }) = self.site.manners.newsgroups.numbers(name) {
            self.selected = Some(name.to_owned());
            self.in_group = true;
            return outbox.line(&format!("211 {count} {first} {last} {name}"));
        }
        let groups = &self.site.manners.groups;
        if name.is_empty() {
            outbox.line("501 Which group?");
        } else if groups.is_empty() || groups.iter().any(|group| group == name) {
            self.in_group = true;
            outbox.line(&format!("211 0 1 0 {name}"));
        } else {
            outbox.line("411 No such group");
        }
    }

    fn on_capabilities(&self, outbox: &mut Outbox) {
        let lines = match &self.site.manners.capabilities {
            Capabilities::Claimed(lines) => lines.clone(),
            Capabilities::Honest => self.capabilities(),
            Capabilities::Unknown => return outbox.line("500 What?"),
        };
        let mut answer = "101 Capability list:\r\n".to_owned();
        for line in lines {
            answer += &line;
            answer += "\r\n";
        }
        outbox.bytes((answer + ".\r\n").into_bytes());
    }

    fn capabilities(&self) -> Vec<String> {
        let manners = &self.site.manners;
        let mut lines = vec!["VERSION 2".to_owned(), "IMPLEMENTATION newsd".to_owned()];
        lines.push(if self.reader { "READER" } else { "MODE-READER" }.to_owned());
        if !manners.only_xover && !manners.newsgroups.is_empty() {
            lines.extend(["HDR", "LIST ACTIVE NEWSGROUPS", "OVER"].map(str::to_owned));
        }
        if manners.compress && !self.compressed {
            lines.push("COMPRESS DEFLATE".to_owned());
        }
        if let Some(login) = manners.login.as_ref().filter(|_| self.login_due) {
            let open = self.tls || !login.needs_tls;
            lines.push(if open { "AUTHINFO USER" } else { "AUTHINFO" }.to_owned());
        }
        if manners.start_tls && !self.tls && !self.stripped() {
            lines.push("STARTTLS".to_owned());
        }
        lines
    }

    fn on_start_tls(&self, outbox: &mut Outbox) {
        if self.tls {
            return outbox.line("502 Already under TLS");
        }
        if !self.site.manners.start_tls || self.stripped() {
            return outbox.line("500 What?");
        }
        let mut answer = b"382 Go on with TLS\r\n".to_vec();
        if let Some(rule) =
            self.fault.as_ref().filter(|rule| rule.fault() == Fault::InjectedPlaintext)
        {
            self.site.tally.fire(Fault::InjectedPlaintext);
            let injected = rule.own_line().unwrap_or("281 Welcome");
            answer.extend_from_slice(format!("{injected}\r\n").as_bytes());
        }
        outbox.bytes(answer);
        outbox.act(Output::StartTls);
    }

    /// Whether someone in the middle hides `STARTTLS`; asking is noticing.
    fn stripped(&self) -> bool {
        let fault = self.fault.as_ref().map(Rule::fault);
        let stripped = fault == Some(Fault::StartTlsStripped);
        if stripped {
            self.site.tally.fire(Fault::StartTlsStripped);
        }
        stripped
    }

    fn on_user(&mut self, user: &str, outbox: &mut Outbox) {
        let Some(login) = &self.site.manners.login else { return self.welcome(outbox) };
        if login.needs_tls && !self.tls {
            return outbox.line("483 Encryption required");
        }
        if login.user_suffices && login.user == user {
            return self.welcome(outbox);
        }
        self.user = Some(user.to_owned());
        outbox.line("381 Password required");
    }

    fn on_password(&mut self, password: &str, outbox: &mut Outbox) {
        let site = Arc::clone(&self.site);
        let Some(user) = self.user.take() else { return outbox.line("482 User name first") };
        if !self.admitted {
            return refuse_one_too_many(&site, outbox);
        }
        if let Some(rule) = site.faults.for_nth(Stage::Login, site.tally.login()) {
            site.tally.fire(rule.fault());
            if rule.fault() == Fault::LoginLoop {
                self.user = Some(user);
                return outbox.line("381 Password required");
            }
            return outbox.line(rule.line());
        }
        match &site.manners.login {
            Some(Login { user: known, password: secret, .. })
                if *known != user || secret.reveal() != password =>
            {
                outbox.line(Fault::LoginRefused.line());
            }
            _ => self.welcome(outbox),
        }
    }

    fn welcome(&mut self, outbox: &mut Outbox) {
        self.login_due = false;
        outbox.line("281 Welcome");
    }
}

/// `3`, `3-` or `3-5`.
fn parse_range(text: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = first.parse().ok()?;
    Some(first..=if last.is_empty() { u64::MAX } else { last.parse().ok()? })
}

fn refuse_one_too_many(site: &Site, outbox: &mut Outbox) {
    site.tally.fire(Fault::TooManyConnections);
    outbox.line(&site.manners.too_many);
    outbox.act(Output::Close);
}

fn no_article(target: Target<'_>, outbox: &mut Outbox) {
    outbox.line(match target {
        Target::Current => "420 No article selected",
        Target::Id(_) => Fault::Missing.line(),
        Target::Number => "423 No article with that number",
    });
}
