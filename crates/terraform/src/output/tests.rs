use std::sync::Mutex;

use super::*;

#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl OutputSink for Kept {
    fn line(&self, line: OutputLine) {
        self.0.lock().unwrap().push(line.text);
    }
}

async fn pump(bytes: &[u8], keep: usize) -> (Vec<String>, String) {
    let kept = Arc::new(Kept::default());
    let sink: Arc<dyn OutputSink> = Arc::<Kept>::clone(&kept);
    let mut pump = Pump::new(bytes, Some((OutputStream::Stdout, sink)), keep);
    pump.run().await.unwrap();
    let tail = pump.finish();
    let lines = kept.0.lock().unwrap().clone();
    (lines, tail)
}

fn line(text: &str) -> OutputLine {
    OutputLine::new(OutputStream::Stdout, text.to_owned())
}

#[tokio::test]
async fn lines_come_without_their_ends() {
    let (lines, tail) = pump(b"one\r\n\ntwo\nthree", 100).await;
    assert_eq!(lines, ["one", "", "two", "three"]);
    assert_eq!(tail, "one\r\n\ntwo\nthree");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    let (lines, _tail) = pump(b"a\xffb\n", 100).await;
    assert_eq!(lines, ["a\u{fffd}b"]);
}

#[tokio::test]
async fn a_long_line_is_split_between_characters() {
    let text = format!("x{}", "é".repeat(LONGEST_LINE));
    let (lines, _tail) = pump(text.as_bytes(), 10).await;
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.len() <= LONGEST_LINE));
    assert_eq!(lines.concat(), text);
}

#[tokio::test]
async fn only_the_end_is_kept_from_a_whole_line_on() {
    let (_lines, tail) = pump(&b"01234567\n".repeat(10), 15).await;
    assert_eq!(tail, "[the beginning is left out]\n01234567\n");
    let endless = b"x".repeat(LONGEST_HALF * 4);
    let (_lines, tail) = pump(&endless, LONGEST_HALF + 3).await;
    assert_eq!(tail, "[the beginning is left out]\nxxx");
}

#[tokio::test]
async fn lines_without_room_are_counted() {
    let (channel, mut receiver) = LineChannel::new(2);
    for text in ["a", "b", "c", "d"] {
        channel.line(line(text));
    }
    assert_eq!(receiver.recv().await.unwrap().text, "a");
    assert_eq!(receiver.recv().await.unwrap().text, "b");
    channel.line(line("e"));
    assert_eq!(
        receiver.recv().await.unwrap().text,
        "2 lines of output left out"
    );
    assert_eq!(receiver.recv().await.unwrap().text, "e");
}

#[tokio::test]
async fn lines_left_out_last_are_counted_when_the_command_ends() {
    let (channel, mut receiver) = LineChannel::new(1);
    channel.line(line("a"));
    channel.line(line("b"));
    assert_eq!(receiver.recv().await.unwrap().text, "a");
    drop(channel);
    assert_eq!(
        receiver.recv().await.unwrap().text,
        "1 lines of output left out"
    );
    assert!(receiver.recv().await.is_none());
}
