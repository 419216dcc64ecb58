//! [`begin_survey`]: reads the free space of the volumes in a task of its own, since a share may hang.

use bergamot_jobs::admission::Survey;
use bergamot_jobs::machine::SurveyRequest;

use crate::disk::disk_info::DiskInfo;
use crate::event::{Event, EventSender};
use crate::service_thread::service_task;

/// Answered by `Surveyed`.
pub(crate) fn begin_survey(disk_info: DiskInfo, events: &EventSender, request: SurveyRequest) {
    let answer = events.clone();
    service_task("survey", events, async move {
        let survey = survey_volumes(&disk_info, request).await;
        answer.send(Event::Surveyed(Box::new(survey)));
    });
}

async fn survey_volumes(disk_info: &DiskInfo, request: SurveyRequest) -> Survey {
    let SurveyRequest { incomplete, directories, begun } = request;
    let looks: Vec<_> = directories
        .into_iter()
        .map(|path| {
            let disk_info = disk_info.clone();
            tokio::spawn(async move {
                let seen = disk_info.survey(&path).await;
                (path, seen)
            })
        })
        .collect();
    let mut volumes = Vec::new();
    for look in looks {
        volumes.extend(look.await);
    }
    Survey { volumes, begun: disk_info.measured(&incomplete, begun).await }
}
