"""aiogram holds a conversation with the simulator: whatever it cannot parse, or types wrongly, is the simulator's fault.

Usage: judge_aiogram.py PROGRAM
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from aiogram import Bot, Dispatcher, F
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiogram.filters import Command
from aiogram.types import (
    BotCommand,
    BotCommandScopeChat,
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)

from control import World

LIMIT = 90
checks = 0


def check(condition, what):
    global checks
    assert condition, what
    checks += 1


async def tell(world, verb, **body):
    return await asyncio.to_thread(world.tell, verb, **body)


class Heard:
    """What the bot's handlers heard, one at a time."""

    def __init__(self):
        self.queue = asyncio.Queue()

    async def next(self):
        return await asyncio.wait_for(self.queue.get(), 20)


def listening(heard):
    dispatcher = Dispatcher()

    @dispatcher.message(Command("echo"))
    async def _(message):
        # The answer of the framework itself: in a topic, it goes to the topic.
        await message.answer(f"echo: {message.text}")
        await heard.queue.put(message)

    @dispatcher.message(F.text | F.document | F.photo | F.forum_topic_created | F.forum_topic_closed | F.forum_topic_edited)
    async def _(message):
        await heard.queue.put(message)

    @dispatcher.edited_message()
    async def _(message):
        await heard.queue.put(("edited", message))

    @dispatcher.callback_query()
    async def _(query):
        await heard.queue.put(query)

    @dispatcher.my_chat_member()
    async def _(change):
        await heard.queue.put(change)

    @dispatcher.message_reaction()
    async def _(change):
        await heard.queue.put(change)

    return dispatcher


async def in_topics(world, bot, heard, alice, forum):
    thread = await tell(world, "topic", by=alice, chat=forum, name="Plans")
    created = await heard.next()
    check(created.forum_topic_created.name == "Plans", "the topic is announced")
    await tell(world, "post", by=alice, chat=forum, thread=thread, text="/echo one")
    asked = await heard.next()
    check(asked.is_topic_message and asked.message_thread_id == thread, "a message in a topic says so")
    check(asked.entities[0].type == "bot_command", "a command is found")
    sent = (await tell(world, "sent"))[-1]
    check((sent["thread"], sent["text"]) == (thread, "echo: /echo one"), "the answer is in the topic")

    await tell(world, "post", by=alice, chat=forum, text="/echo two")
    asked = await heard.next()
    check(asked.message_thread_id is None and not asked.is_topic_message, "General names no topic")
    sent = (await tell(world, "sent"))[-1]
    check(sent["thread"] is None, "the answer is in General")

    reply = await bot.send_message(forum, "indeed", reply_parameters=ReplyParameters(message_id=asked.message_id))
    check(reply.reply_to_message.text == "/echo two", "a reply shows what it answers")
    try:
        await bot.send_message(forum, "x", message_thread_id=1)
        check(False, "General is not sent to by number")
    except TelegramBadRequest as error:
        check("message thread not found" in error.message, error.message)
    check(await bot.send_chat_action(forum, "typing", message_thread_id=1), "typing in General")

    made = await bot.create_forum_topic(forum, "Mine")
    check((await heard.next()).message_thread_id == made.message_thread_id, "a bot hears of its own topic")
    await bot.edit_forum_topic(forum, made.message_thread_id, name="Ours")
    check((await heard.next()).forum_topic_edited.name == "Ours", "and of its new name")
    await tell(world, "admit", chat=forum, who=bot.id, standing="member")
    await tell(world, "topic_event", by=alice, chat=forum, thread=thread, event="closed")
    check((await heard.next()).forum_topic_closed is not None, "a topic is closed")
    try:
        await bot.send_message(forum, "x", message_thread_id=thread)
        check(False, "a closed topic takes nothing")
    except TelegramBadRequest as error:
        check(error.message == "Bad Request: TOPIC_CLOSED", error.message)
    await tell(world, "topic_event", by=alice, chat=forum, thread=thread, event="deleted")
    try:
        await bot.send_message(forum, "x", message_thread_id=thread)
        check(False, "a deleted topic takes nothing")
    except TelegramBadRequest as error:
        check("message thread not found" in error.message, error.message)


async def buttons_and_edits(world, bot, heard, alice):
    keyboard = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Yes", callback_data="yes")]])
    bold = [MessageEntity(type="bold", offset=0, length=7)]
    asked = await bot.send_message(alice, "Approve?", reply_markup=keyboard, entities=bold)
    check(asked.entities[0].type == "bold", "entities come back")
    await tell(world, "press", by=alice, chat=alice, bot=bot.id, message=asked.message_id, data="yes")
    query = await heard.next()
    check((query.data, query.message.message_id) == ("yes", asked.message_id), "a press is heard")
    check(await query.answer("done"), "and answered")
    check((await tell(world, "callback_answers"))[-1]["text"] == "done", "the person sees it")
    edited = await query.message.edit_text("Approved")
    check(edited.edit_date and edited.text == "Approved", "a message is edited")
    try:
        await edited.edit_text("Approved")
        check(False, "an edit that changes nothing is refused")
    except TelegramBadRequest as error:
        check("message is not modified" in error.message, error.message)
    said = await tell(world, "post", by=alice, chat=alice, bot=bot.id, text="helo")
    await heard.next()
    await tell(world, "edit", by=alice, chat=alice, bot=bot.id, message=said, text="hello")
    kind, message = await heard.next()
    check((kind, message.text) == ("edited", "hello"), "an edit is heard")
    await tell(world, "react", by=alice, chat=alice, bot=bot.id, message=asked.message_id, emoji=["👍"])
    check((await heard.next()).new_reaction[0].emoji == "👍", "a reaction is heard")
    check(await bot.set_message_reaction(alice, said, [ReactionTypeEmoji(emoji="👀")]), "and given")
    check(await bot.delete_message(alice, asked.message_id), "a message is deleted")


async def files(world, bot, heard, alice):
    sent = await bot.send_document(alice, BufferedInputFile(b"a,b\n", "table.csv"), caption="the table")
    check((sent.document.file_name, sent.caption) == ("table.csv", "the table"), "a document goes up")
    down = await bot.download(sent.document)
    check(down.read() == b"a,b\n", "and comes down")
    album = [InputMediaDocument(media=BufferedInputFile(b"x", f"{n}.txt")) for n in range(2)]
    group = await bot.send_media_group(alice, album)
    check(group[0].media_group_id == group[1].media_group_id, "an album has one number")
    await tell(world, "post", by=alice, chat=alice, bot=bot.id, text="look", file={"kind": "photo", "bytes": "picture"})
    message = await heard.next()
    check((await bot.download(message.photo[-1])).read() == b"picture", "a photo comes down")
    await tell(world, "post", by=alice, chat=alice, bot=bot.id, file={"kind": "document", "name": "big", "bytes": "x", "size": 30_000_000})
    message = await heard.next()
    try:
        await bot.get_file(message.document.file_id)
        check(False, "a big file is not given out")
    except TelegramBadRequest as error:
        check("file is too big" in error.message, error.message)


async def refusals(world, bot, heard, alice):
    await tell(world, "fault", trouble={"too_many_requests": {"retry_after": 7}}, method="sendMessage")
    try:
        await bot.send_message(alice, "x")
        check(False, "it is told to wait")
    except TelegramRetryAfter as error:
        check(error.retry_after == 7, "for seven seconds")
    group = await tell(world, "chat", kind="group", title="Group", members=[alice])
    await tell(world, "admit", chat=group, who=bot.id, standing="member")
    new = await tell(world, "migrate", by=alice, chat=group)
    try:
        await bot.send_message(group, "x")
        check(False, "the group is gone")
    except TelegramMigrateToChat as error:
        check(error.migrate_to_chat_id == new, "and says where to")
    await tell(world, "block", chat=alice, bot=bot.id)
    check((await heard.next()).new_chat_member.status == "kicked", "being blocked is heard")
    try:
        await bot.send_message(alice, "x")
        check(False, "a blocked bot is refused")
    except TelegramForbiddenError as error:
        check("bot was blocked by the user" in error.message, error.message)
    await tell(world, "unblock", chat=alice, bot=bot.id)
    await heard.next()
    try:
        await bot.send_message(99, "x")
        check(False, "nobody is there")
    except TelegramBadRequest as error:
        check("chat not found" in error.message, error.message)
    await tell(world, "fault", trouble="unauthorized", method="getMe")
    try:
        await bot.get_me()
        check(False, "the token does not count")
    except TelegramUnauthorizedError:
        check(True, "401 is typed")


async def profile(bot, alice):
    me = await bot.get_me()
    check(me.has_topics_enabled, "private chats have topics")
    await bot.set_my_commands([BotCommand(command="help", description="helps")], scope=BotCommandScopeChat(chat_id=alice))
    commands = await bot.get_my_commands(scope=BotCommandScopeChat(chat_id=alice))
    check(commands[0].command == "help", "commands are kept")
    chat = await bot.get_chat(alice)
    check(chat.type == "private", "a chat is looked up")
    member = await bot.get_chat_member(alice, bot.id)
    check(member.status == "member", "a member is looked up")


async def converse(world):
    made = await tell(world, "bot", username="judged_bot", topics=True, reads_all=True)
    alice = await tell(world, "user", first_name="Alice", username="alice")
    await tell(world, "private_chat", bot=made["id"], person=alice)
    forum = await tell(world, "chat", kind="forum", title="Forum", members=[alice])
    rights = ["can_manage_topics", "can_delete_messages", "can_pin_messages"]
    await tell(world, "admit", chat=forum, who=made["id"], standing={"administrator": rights})

    session = AiohttpSession(api=TelegramAPIServer.from_base(world.url))
    bot, heard = Bot(made["token"], session=session), Heard()
    dispatcher = listening(heard)
    kinds = dispatcher.resolve_used_update_types()
    polling = asyncio.create_task(
        dispatcher.start_polling(bot, polling_timeout=5, allowed_updates=kinds, handle_signals=False)
    )
    try:
        await profile(bot, alice)
        await in_topics(world, bot, heard, alice, forum)
        await buttons_and_edits(world, bot, heard, alice)
        await files(world, bot, heard, alice)
        await refusals(world, bot, heard, alice)
        violations = await tell(world, "violations")
        # Sending to General by its number is refused for the state of the world, not for its form.
        check(violations == [], f"aiogram breaks no rule: {violations}")
    finally:
        await dispatcher.stop_polling()
        await asyncio.wait([polling], timeout=10)
        await bot.session.close()


def main():
    with World(sys.argv[1]) as world:
        asyncio.run(asyncio.wait_for(converse(world), LIMIT))
    print(f"aiogram: {checks} checks passed")


main()
