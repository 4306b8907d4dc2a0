// grammY holds a conversation with the simulator, by polling and by webhook.
//
// Usage: NODE_PATH=… node judge_grammy.mjs PROGRAM

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { once } from "node:events";
import { createInterface } from "node:readline";

// NODE_PATH counts for `require` only.
const require = createRequire(import.meta.url);
const { Bot, GrammyError, InlineKeyboard, InputFile, webhookCallback } = require("grammy");

const LIMIT = 90_000;
let checks = 0;

function check(actual, expected, what) {
  assert.deepEqual(actual, expected, what);
  checks += 1;
}

async function refused(promise, code, description) {
  const error = await promise.then(
    () => assert.fail(`${description} was expected`),
    (error) => error,
  );
  assert.ok(error instanceof GrammyError, String(error));
  check(error.error_code, code, error.description);
  assert.match(error.description, description);
  return error;
}

class World {
  static async start(program) {
    const world = new World();
    world.process = spawn(program, ["--listen", "127.0.0.1:0", "--until-eof"], { stdio: ["pipe", "pipe", "inherit"] });
    const [line] = await once(createInterface({ input: world.process.stdout }), "line");
    world.url = JSON.parse(line).url;
    return world;
  }

  async tell(verb, body = {}) {
    const response = await fetch(`${this.url}/_control/${verb}`, { method: "POST", body: JSON.stringify(body) });
    const answer = await response.json();
    assert.ok(answer.ok, `${verb}: ${answer.error}`);
    return answer.result;
  }

  async end() {
    this.process.stdin.end();
    await once(this.process, "exit");
  }
}

// What handlers heard, one at a time.
class Heard {
  waiting = [];
  arrived = [];

  put(value) {
    const next = this.waiting.shift();
    if (next) next(value);
    else this.arrived.push(value);
  }

  async next() {
    if (this.arrived.length > 0) return this.arrived.shift();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("nothing was heard")), 20_000);
      this.waiting.push((value) => {
        clearTimeout(timer);
        resolve(value);
      });
    });
  }
}

async function make(world) {
  const made = await world.tell("bot", { username: "judged_bot", topics: true, reads_all: true });
  const alice = await world.tell("user", { first_name: "Alice", username: "alice" });
  await world.tell("private_chat", { bot: made.id, person: alice });
  const forum = await world.tell("chat", { kind: "forum", title: "Forum", members: [alice] });
  const standing = { administrator: ["can_manage_topics", "can_pin_messages"] };
  await world.tell("admit", { chat: forum, who: made.id, standing });
  const bot = new Bot(made.token, { client: { apiRoot: world.url } });
  const heard = new Heard();
  bot.command("echo", async (context) => {
    // grammY itself sends the answer to the topic of the message.
    await context.reply(`echo: ${context.match}`);
    heard.put(context.message);
  });
  bot.on("callback_query:data", async (context) => {
    await context.answerCallbackQuery({ text: "done" });
    await context.editMessageText("Approved");
    heard.put(context.callbackQuery);
  });
  bot.on("message", (context) => heard.put(context.message));
  bot.on("edited_message", (context) => heard.put(context.editedMessage));
  bot.catch((error) => heard.put(error));
  return { world, bot, heard, alice, forum, id: made.id };
}

async function inTopics({ world, bot, heard, alice, forum, id }) {
  const thread = await world.tell("topic", { by: alice, chat: forum, name: "Plans" });
  check((await heard.next()).forum_topic_created.name, "Plans");
  await world.tell("post", { by: alice, chat: forum, thread, text: "/echo one" });
  const asked = await heard.next();
  check([asked.message_thread_id, asked.is_topic_message], [thread, true]);
  await world.tell("post", { by: alice, chat: forum, text: "/echo two" });
  const general = await heard.next();
  check([general.message_thread_id, general.is_topic_message], [undefined, undefined]);
  const sent = await world.tell("sent");
  check(sent.map(({ text, thread }) => [text, thread]), [["echo: one", thread], ["echo: two", null]]);
  const reply = await bot.api.sendMessage(forum, "indeed", { reply_parameters: { message_id: asked.message_id } });
  check([reply.message_thread_id, reply.reply_to_message.text], [thread, "/echo one"]);
  await refused(bot.api.sendMessage(forum, "x", { message_thread_id: 1 }), 400, /message thread not found/);
  check(await bot.api.sendChatAction(forum, "typing", { message_thread_id: 1 }), true);
  await world.tell("admit", { chat: forum, who: id, standing: "member" });
  await world.tell("topic_event", { by: alice, chat: forum, thread, event: "closed" });
  await heard.next();
  await refused(bot.api.sendMessage(forum, "x", { message_thread_id: thread }), 400, /TOPIC_CLOSED/);
}

async function buttonsAndEdits({ world, bot, heard, alice, id }) {
  const asked = await bot.api.sendMessage(alice, "Approve?", { reply_markup: new InlineKeyboard().text("Yes", "yes") });
  await world.tell("press", { by: alice, chat: alice, bot: id, message: asked.message_id, data: "yes" });
  check((await heard.next()).data, "yes");
  check((await world.tell("callback_answers")).at(-1).text, "done");
  const sent = (await world.tell("sent")).at(-1);
  check([sent.text, sent.history[0].text, sent.buttons], ["Approved", "Approve?", []]);
  await refused(bot.api.editMessageText(alice, asked.message_id, "Approved"), 400, /message is not modified/);
  const said = await world.tell("post", { by: alice, chat: alice, bot: id, text: "helo" });
  await heard.next();
  await world.tell("edit", { by: alice, chat: alice, bot: id, message: said, text: "hello" });
  const edited = await heard.next();
  check([edited.message_id, edited.text], [said, "hello"]);
}

async function files({ world, bot, heard, alice, id }) {
  const sent = await bot.api.sendDocument(alice, new InputFile(Buffer.from("a,b\n"), "table.csv"), { caption: "the table" });
  check([sent.document.file_name, sent.caption], ["table.csv", "the table"]);
  const file = await bot.api.getFile(sent.document.file_id);
  const down = await fetch(`${world.url}/file/bot${bot.token}/${file.file_path}`);
  check(await down.text(), "a,b\n");
  const big = { kind: "document", name: "big", bytes: "x", size: 30_000_000 };
  await world.tell("post", { by: alice, chat: alice, bot: id, file: big });
  const message = await heard.next();
  await refused(bot.api.getFile(message.document.file_id), 400, /file is too big/);
}

async function refusals({ world, bot, alice }) {
  await world.tell("fault", { trouble: { too_many_requests: { retry_after: 7 } }, method: "sendMessage" });
  const error = await refused(bot.api.sendMessage(alice, "x"), 429, /retry after 7/);
  check(error.parameters, { retry_after: 7 });
  await refused(bot.api.sendMessage(99, "x"), 400, /chat not found/);
  await world.tell("fault", { trouble: "unauthorized", method: "getMe" });
  await refused(bot.api.getMe(), 401, /Unauthorized/);
}

async function byPolling(program) {
  const world = await World.start(program);
  const stage = await make(world);
  const polling = stage.bot.start({ timeout: 5 });
  try {
    await inTopics(stage);
    await buttonsAndEdits(stage);
    await files(stage);
    await refusals(stage);
    check(await world.tell("violations"), []);
  } finally {
    await stage.bot.stop();
    await polling;
    await world.end();
  }
}

async function byWebhook(program) {
  const world = await World.start(program);
  const stage = await make(world);
  const handle = webhookCallback(stage.bot, "http", { secretToken: "s3cret" });
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${server.address().port}/`;
    await stage.bot.api.setWebhook(url, { secret_token: "s3cret" });
    const info = await stage.bot.api.getWebhookInfo();
    check(info.url, url);
    await inTopics(stage);
    await buttonsAndEdits(stage);
    await refused(stage.bot.api.getUpdates(), 409, /webhook is active/);
    check(await world.tell("violations"), []);
  } finally {
    server.close();
    server.closeAllConnections();
    await world.end();
  }
}

const late = setTimeout(() => {
  console.error("grammY: it took too long");
  process.exit(1);
}, LIMIT);
await byPolling(process.argv[2]);
await byWebhook(process.argv[2]);
clearTimeout(late);
console.log(`grammY: ${checks} checks passed`);
