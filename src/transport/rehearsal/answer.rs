//! An answer as steps in time, for the page to play. Who comes later finds it where it is by then.

use serde::Serialize;

use crate::transport::RequestId;
use crate::transport::rehearsal::Happening;
use crate::transport::rehearsal::Reply;

/// What the page does at a moment, in milliseconds since the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    at: u64,
    does: &'static str,
    text: String,
}

impl Step {
    /// Whether the page is left by it.
    pub(super) fn is_departure(&self) -> bool {
        matches!(self.does, "leave" | "reload")
    }
}

/// Returns the steps of a reply to a prompt.
pub(super) fn steps(reply: &Reply, prompt: &str) -> Vec<Step> {
    let id = RequestId::find(prompt).map(|id| id.to_string()).unwrap_or_default();
    let markdown = reply.markdown.replace("{{REQUEST_ID}}", &id);
    let mut player = Player { now: 0, steps: Vec::new() };
    for happening in &reply.happenings {
        if let Happening::Think { ms, summary } = happening {
            player.put("think", "");
            player.now += ms;
            player.put("thought", summary);
        }
    }
    player.now += reply.start_ms;
    let said = reply.preamble.as_deref().map_or(markdown.clone(), |preamble| format!("{preamble}\n\n{markdown}"));
    let characters: Vec<char> = said.chars().collect();
    let mut position = 0;
    let mut coming: Vec<&Happening> = reply.happenings.iter().collect();
    coming.sort_by_key(|happening| after(happening));
    for happening in coming {
        let until = after(happening).min(characters.len());
        player.write(reply, &characters[position..until.max(position)]);
        position = position.max(until);
        match happening {
            Happening::Think { .. } => {}
            Happening::Pause { ms, hides_stop, .. } => {
                if *hides_stop {
                    player.put("hide_stop", "");
                }
                player.now += ms;
                player.put("show_stop", "");
            }
            Happening::Remount { .. } => player.put("remount", ""),
            Happening::Alert { text, .. } => player.put("alert", text),
            Happening::Reload { .. } => player.put("reload", ""),
            Happening::Fail { text, .. } => return player.ended("fail", text),
            Happening::Throttle { text, .. } => {
                player.put("throttle", text);
                return player.ended("stall", "");
            }
            Happening::Leave { to, .. } => return player.ended("leave", to),
            Happening::Stall { .. } => return player.ended("stall", ""),
        }
    }
    player.write(reply, &characters[position..]);
    player.ended("end", "")
}

fn after(happening: &Happening) -> usize {
    match happening {
        Happening::Think { .. } => 0,
        Happening::Pause { after, .. }
        | Happening::Remount { after }
        | Happening::Fail { after, .. }
        | Happening::Throttle { after, .. }
        | Happening::Leave { after, .. }
        | Happening::Reload { after }
        | Happening::Alert { after, .. }
        | Happening::Stall { after } => *after,
    }
}

struct Player {
    now: u64,
    steps: Vec<Step>,
}

impl Player {
    fn put(&mut self, does: &'static str, text: &str) {
        self.steps.push(Step { at: self.now, does, text: text.to_owned() });
    }

    fn write(&mut self, reply: &Reply, characters: &[char]) {
        for piece in characters.chunks(reply.chunk.max(1)) {
            self.put("write", &piece.iter().collect::<String>());
            self.now += reply.every_ms;
        }
    }

    fn ended(mut self, does: &'static str, text: &str) -> Vec<Step> {
        self.put(does, text);
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_arrives_in_pieces_with_what_happens_between_them() {
        let reply = Reply {
            markdown: "{{REQUEST_ID}} abcdef".to_owned(),
            start_ms: 10,
            chunk: 20,
            every_ms: 5,
            happenings: vec![
                Happening::Fail { after: 22, text: "broken".into() },
                Happening::Think { ms: 100, summary: "Thought".into() },
            ],
            ..Reply::default()
        };
        let steps = steps(&reply, "Request id: orc-0123456789ab\n");
        let seen: Vec<_> = steps.iter().map(|step| (step.at, step.does, step.text.as_str())).collect();
        let expected = [
            (0, "think", ""),
            (100, "thought", "Thought"),
            (110, "write", "orc-0123456789ab abc"),
            (115, "write", "de"),
            (120, "fail", "broken"),
        ];
        assert_eq!(seen, expected);
    }
}
