//! `storage`: the directories that jobs are written to.

use bergamot_types::Shown;
use serde_json::json;

use crate::arguments::StorageCommand;
use crate::client::response::{Disk, read};
use crate::client::session::Session;
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn storage(session: &mut Session, command: &StorageCommand) -> Result<(), Failure> {
    match command {
        StorageCommand::Accept { path } => {
            let path = path.as_ref().map(|path| path.to_string_lossy().into_owned());
            let answer = session.ask("storage.accept", json!({ "path": path }))?;
            session.out.answer(&answer, |_| {
                Ok("The disks that are mounted now are accepted.\n".to_owned())
            })
        }
        StorageCommand::List => {
            let answer = session.ask("storage.list", json!({}))?;
            let disks: Vec<Disk> = read(&answer)?;
            session.out.answer(&answer, |style| Ok(page(&disks, style)))
        }
    }
}

fn page(disks: &[Disk], style: Style) -> String {
    let heads =
        [left("DIRECTORY"), right("FREE"), right("TOTAL"), right("KEPT"), flexible("STATE")];
    let mut table = Columns::new(heads);
    for disk in disks {
        let state = match &disk.trouble {
            Some(trouble) => Cell::tinted(Tint::Bad, Shown(trouble).to_string()),
            None if disk.free < disk.reserve => Cell::tinted(Tint::Warning, "full"),
            None => "ready".into(),
        };
        table.push([
            Shown(&disk.path).to_string().into(),
            format::size(disk.free).into(),
            format::size(disk.total).into(),
            format::size(disk.reserve).into(),
            state,
        ]);
    }
    table.page(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_says_whether_it_can_be_used() {
        let disks: Vec<Disk> = read(&json!([
            { "path": "/a", "free": 5_000_000_000_u64, "total": 9_000_000_000_u64,
              "reserve": 1_000_000_000_u64, "trouble": null },
            { "path": "/b", "free": 5_000, "total": 9_000_000, "reserve": 6_000, "trouble": null },
            { "path": "/c", "free": 0, "total": 0, "reserve": 0, "trouble": "not mounted" },
        ]))
        .unwrap();
        assert_eq!(
            page(&disks, Style::plain(80)),
            "DIRECTORY     FREE    TOTAL     KEPT  STATE\n\
             /a         5.00 GB  9.00 GB  1.00 GB  ready\n\
             /b          5.0 kB   9.0 MB   6.0 kB  full\n\
             /c             0 B      0 B      0 B  not mounted\n"
        );
    }
}
