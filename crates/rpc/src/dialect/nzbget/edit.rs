//! `editqueue`: a command with one parameter, applied to jobs or files by their ids.

use std::collections::{HashMap, HashSet};

use bergamot_api::request::{Delete, Edit, FileEdit, HistoryEdit, Place, SortKey};
use bergamot_api::view::{File, Mark, Parameter};
use bergamot_api::{Control, Refusal};
use bergamot_types::JobId;

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::file_order::{is_par2, is_par2_volume, sort_files};
use crate::dialect::nzbget::append::dupe_mode;
use crate::dialect::nzbget::arguments::{Arguments, Scalar};

struct Command {
    name: String, // in small letters
    offset: Option<i64>,
    parameter: String,
    ids: Vec<u32>, // each once
}

pub(crate) async fn edit_queue<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let command = Command::read(&mut call.arguments()?)?;
    let done = if command.name.starts_with("file") {
        edit_files(call.control, command).await?
    } else {
        edit_jobs(call.control, command).await?
    };
    call.answer(&done)
}

impl Command {
    /// Both `command, parameter, ids` and the older `command, offset, parameter, ids`.
    fn read(arguments: &mut Arguments<'_>) -> Result<Self, Fault> {
        let name = arguments.text("Command")?.to_ascii_lowercase();
        let with_offset = matches!(
            (arguments.peek(0), arguments.peek(1)),
            (Some(Scalar::Integer(_)), Some(Scalar::Text(_)))
        );
        let offset = if with_offset { Some(arguments.integer("Offset")?) } else { None };
        let parameter = arguments.optional_text().unwrap_or_default().into_owned();
        if arguments.len() > MOST_IDS {
            return Err(Fault::TooMany { count: arguments.len(), limit: MOST_IDS });
        }
        let mut seen = HashSet::new();
        let mut ids = Vec::new();
        while !arguments.is_empty() {
            let id = arguments.integer("an id")?;
            let id = u32::try_from(id).map_err(|_| Fault::parameter(format!("{id} is no id")))?;
            if seen.insert(id) {
                ids.push(id);
            }
        }
        Ok(Self { name, offset, parameter, ids })
    }

    fn offset(&self) -> Result<i64, Fault> {
        match self.offset {
            Some(offset) if self.parameter.is_empty() => Ok(offset),
            _ => self.number("an offset"),
        }
    }

    fn job(&self) -> Result<JobId, Fault> {
        self.number("the id of a job").map(JobId)
    }

    fn number<N: std::str::FromStr>(&self, what: &str) -> Result<N, Fault> {
        let parsed = self.parameter.trim().parse();
        parsed.map_err(|_| Fault::parameter(format!("{} needs {what}", self.name)))
    }

    fn yes_or_no(&self) -> Result<bool, Fault> {
        match self.parameter.trim().to_ascii_lowercase().as_str() {
            "1" | "yes" | "true" => Ok(true),
            "0" | "no" | "false" => Ok(false),
            _ => Err(Fault::parameter(format!("{} needs 0 or 1", self.name))),
        }
    }

    fn setting(&self) -> Result<Parameter, Fault> {
        let (name, value) = self
            .parameter
            .split_once('=')
            .ok_or_else(|| Fault::parameter("expected a parameter as name=value"))?;
        let parameter = Parameter { name: name.trim().to_owned(), value: value.to_owned() };
        bounds::parameters(vec![parameter.clone()])?;
        Ok(parameter)
    }

    fn sort(&self) -> Result<Edit, Fault> {
        let (key, descending) = match self.parameter.trim() {
            text if text.ends_with('-') => (text.trim_end_matches('-'), true),
            text => (text.trim_end_matches('+'), false),
        };
        let by = match key.to_ascii_lowercase().as_str() {
            "name" => SortKey::Name,
            "priority" => SortKey::Priority,
            "category" => SortKey::Category,
            "size" => SortKey::Size,
            "left" => SortKey::Left,
            _ => {
                return Err(Fault::parameter(
                    "the sort key is none of name, priority, category, size and left",
                ));
            }
        };
        Ok(Edit::Sort { by, descending })
    }

    /// What a command about whole jobs means.
    fn edit(&self) -> Result<Edit, Fault> {
        Ok(match self.name.as_str() {
            "groupmoveoffset" => Edit::Move(Place::By(self.offset()?)),
            "groupmovetop" => Edit::Move(Place::Top),
            "groupmovebottom" => Edit::Move(Place::Bottom),
            "groupmovebefore" => Edit::Move(Place::Before(self.job()?)),
            "groupmoveafter" => Edit::Move(Place::After(self.job()?)),
            "grouppause" => Edit::Pause,
            "groupresume" => Edit::Resume,
            "groupdelete" => Edit::Delete(Delete::ToHistory),
            "groupdupedelete" => Edit::Delete(Delete::AsDuplicate),
            "groupfinaldelete" => Edit::Delete(Delete::Finally),
            // What was downloaded stays in both cases.
            "groupparkdelete" | "postdelete" => Edit::Delete(Delete::Park),
            "groupsort" => self.sort()?,
            "groupsetpriority" => Edit::SetPriority(bounds::priority(self.number("a priority")?)),
            "groupsetcategory" | "groupapplycategory" | "historysetcategory" => {
                Edit::SetCategory(bounds::category(&self.parameter)?)
            }
            "groupsetname" | "historysetname" => Edit::SetName(bounds::name(&self.parameter)?),
            "groupsetparameter" | "historysetparameter" => self.setting()?.into(),
            "groupsetdupekey" | "historysetdupekey" => {
                Edit::SetDupeKey(bounds::dupe_key(&self.parameter)?)
            }
            "groupsetdupescore" | "historysetdupescore" => {
                Edit::SetDupeScore(self.number("a score")?)
            }
            "groupsetdupemode" | "historysetdupemode" => {
                Edit::SetDupeMode(dupe_mode(&self.parameter)?)
            }
            "historydelete" => Edit::History(HistoryEdit::Hide),
            "historyfinaldelete" => Edit::History(HistoryEdit::Delete),
            // A job that was parked goes on where it stood.
            "historyreturn" | "historyretryfailed" => Edit::History(HistoryEdit::Retry),
            "historyprocess" => Edit::History(HistoryEdit::Process),
            "historyredownload" => Edit::History(HistoryEdit::Redownload),
            "historymarkbad" => Edit::History(HistoryEdit::Mark(Mark::Bad.into())),
            "historymarkgood" => Edit::History(HistoryEdit::Mark(Mark::Good.into())),
            "historymarksuccess" => Edit::History(HistoryEdit::Mark(Mark::Success.into())),
            "historysetdupebackup" => Edit::History(HistoryEdit::Backup(self.yes_or_no()?)),
            _ => return Err(unknown(&self.name)),
        })
    }

    /// What a command about files means.
    fn file_edit(&self) -> Result<FileEdit, Fault> {
        Ok(match self.name.as_str() {
            "filemoveoffset" => FileEdit::By(self.offset()?),
            "filemovetop" => FileEdit::Top,
            "filemovebottom" => FileEdit::Bottom,
            "filepause" | "filepauseallpars" | "filepauseextrapars" => FileEdit::Pause,
            "fileresume" => FileEdit::Resume,
            "filedelete" => FileEdit::Delete,
            "filereorder" => FileEdit::Reorder,
            _ => return Err(unknown(&self.name)),
        })
    }

    /// Which of the files a command about recovery files means.
    fn means(&self, file: &File) -> bool {
        match self.name.as_str() {
            "filepauseallpars" | "grouppauseallpars" => is_par2(&file.name),
            "filepauseextrapars" | "grouppauseextrapars" => is_par2_volume(&file.name),
            _ => true,
        }
    }
}

async fn edit_jobs<C: Control>(control: &C, command: Command) -> Result<bool, Fault> {
    let jobs: Vec<JobId> = command.ids.iter().copied().map(JobId).collect();
    match command.name.as_str() {
        "grouppauseallpars" | "grouppauseextrapars" => {
            return pause_recovery_files(control, &command).await;
        }
        "groupsortfiles" => return sort_all_files(control, jobs).await,
        // One of which something has come already is refused by its name.
        "groupmerge" => return Ok(control.merge(jobs).await.map(|()| true)?),
        _ => {}
    }
    let edit = command.edit()?;
    if jobs.is_empty() && !matches!(edit, Edit::Sort { .. }) {
        return Err(Fault::parameter("no ids are given"));
    }
    let outcomes = control.edit(jobs.clone(), edit.clone()).await?;
    let mut any = jobs.is_empty() || outcomes.iter().any(Result::is_ok);
    if let Some(elsewhere) = in_the_other_list(&edit) {
        let refused = jobs.into_iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_err());
        let refused: Vec<JobId> = refused.map(|(job, _)| job).collect();
        if !refused.is_empty() {
            any |= control.edit(refused, elsewhere).await?.iter().any(Result::is_ok);
        }
    }
    Ok(any)
}

/// Some clients send the command for the queue with ids of the history, and the other way round.
fn in_the_other_list(edit: &Edit) -> Option<Edit> {
    match edit {
        Edit::Delete(Delete::Finally) => Some(Edit::History(HistoryEdit::Delete)),
        Edit::History(HistoryEdit::Delete) => Some(Edit::Delete(Delete::Finally)),
        _ => None,
    }
}

async fn pause_recovery_files<C: Control>(control: &C, command: &Command) -> Result<bool, Fault> {
    let mut any = false;
    for job in command.ids.iter().copied().map(JobId) {
        let Ok(files) = control.files(Some(job)).await else { continue };
        let files: Vec<u32> =
            files.iter().filter(|file| command.means(file)).map(|file| file.index).collect();
        let edit = Edit::Files { files, what: FileEdit::Pause };
        any |= control.edit(vec![job], edit).await?.iter().any(Result::is_ok);
    }
    Ok(any)
}

async fn sort_all_files<C: Control>(control: &C, jobs: Vec<JobId>) -> Result<bool, Fault> {
    let mut any = false;
    for job in jobs {
        any |= sort_files(control, job).await?.is_ok();
    }
    Ok(any)
}

/// The files of each job that are meant, in the order of the ids.
async fn files_meant<C: Control>(
    control: &C,
    command: &Command,
) -> Result<Vec<(JobId, Vec<u32>)>, Fault> {
    if command.ids.is_empty() {
        return Err(Fault::parameter("no ids are given"));
    }
    let places: HashMap<u64, usize> =
        command.ids.iter().enumerate().map(|(place, id)| (u64::from(*id), place)).collect();
    let mut found = Vec::new();
    for job in control.jobs_of_files(places.keys().copied().collect()).await? {
        let Ok(mut listed) = control.files(Some(job)).await else { continue };
        listed.retain(|file| places.contains_key(&file.id) && command.means(file));
        listed.sort_by_key(|file| places.get(&file.id));
        found.push((job, listed.iter().map(|file| file.index).collect()));
    }
    Ok(found)
}

/// As NZBGet does, into one job; but only of files of one.
async fn split_files<C: Control>(control: &C, command: &Command) -> Result<bool, Fault> {
    let name = bounds::name(&command.parameter)?;
    let mut found = files_meant(control, command).await?;
    match (found.pop(), found.is_empty()) {
        (None, _) => Ok(false),
        (Some((job, files)), true) => Ok(control.split(job, files, name).await.map(|_| true)?),
        (Some(_), false) => Err(Fault::parameter("these are files of several jobs")),
    }
}

async fn edit_files<C: Control>(control: &C, command: Command) -> Result<bool, Fault> {
    if command.name == "filesplit" {
        return split_files(control, &command).await;
    }
    let what = command.file_edit()?;
    let found = files_meant(control, &command).await?;
    let is_known = !found.is_empty();
    let mut any = false;
    for (job, files) in found.into_iter().filter(|(_, files)| !files.is_empty()) {
        let edit = Edit::Files { files, what };
        any |= control.edit(vec![job], edit).await?.iter().any(Result::is_ok);
    }
    if what == FileEdit::Delete && !is_known {
        // Homarr asks with the ids of jobs.
        let jobs = command.ids.into_iter().map(JobId).collect();
        any = control.edit(jobs, Edit::Delete(Delete::ToHistory)).await?.iter().any(Result::is_ok);
    }
    Ok(any)
}

fn unknown(name: &str) -> Fault {
    let name = name.chars().take(64).collect::<String>();
    Refusal::Impossible(format!("there is no command {name:?}")).into()
}

/// More than any client selects; the daemon's loop applies them in one step.
const MOST_IDS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::Json;

    fn read(json: &str) -> Command {
        let json = Json::parse(json.as_bytes()).expect("the test is right");
        Command::read(&mut Arguments::flattened(json).expect("few enough")).expect("a command")
    }

    #[test]
    fn both_forms_mean_the_same() {
        for json in [
            r#"["GroupMoveOffset","-3",[7,8]]"#,
            r#"["GroupMoveOffset",-3,"",[7,8,7]]"#,
            r#"["groupmoveoffset",-3,[7,8]]"#,
        ] {
            let command = read(json);
            assert_eq!(command.edit().expect("known"), Edit::Move(Place::By(-3)), "{json}");
            assert_eq!(command.ids, [7, 8], "{json}");
        }
        let command = read(r#"["GroupFinalDelete",0,"",12]"#);
        assert_eq!(command.edit().expect("known"), Edit::Delete(Delete::Finally));
        assert_eq!(command.ids, [12]);
        assert!(read(r#"["GroupSort","size-",[]]"#).ids.is_empty());
    }

    #[test]
    fn parameters_may_hold_equal_signs() {
        let setting = read(r#"["GroupSetParameter","*Unpack:Password=a=b",[1]]"#).setting();
        assert_eq!(setting.expect("a setting").value, "a=b");
    }

    #[test]
    fn too_many_ids_are_refused() {
        let json = |count: usize| {
            let ids: Vec<String> = (0..count).map(|id| id.to_string()).collect();
            format!(r#"["GroupPause","",[{}]]"#, ids.join(","))
        };
        assert_eq!(read(&json(MOST_IDS)).ids.len(), MOST_IDS);
        let text = json(MOST_IDS + 1);
        let json = Json::parse(text.as_bytes()).expect("the test is right");
        let mut arguments = Arguments::flattened(json).expect("few enough");
        assert!(matches!(Command::read(&mut arguments), Err(Fault::TooMany { .. })));
    }
}
