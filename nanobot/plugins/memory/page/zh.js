/** 中文。 English is the key. */

export default {
  "a run": "一次运行",
  "Accept": "接受",
  "Active": "有效",
  "Correct it": "更正",
  "Corrected": "已更正",
  "Facts that people asked to remember, and facts from long conversations.":
    "人们要求记住的内容，以及长对话中留下的内容，都在这里。",
  "Forget": "忘记",
  "Forgotten": "已忘记",
  "match {score}": "匹配度 {score}",
  "Nothing is remembered yet": "还没有记忆",
  "Nothing like that is remembered": "没有相关记忆",
  "Proposed": "待确认",
  "Reject": "拒绝",
  "Rejected": "已拒绝",
  "Remembered": "已记住",
  "Search the memory": "搜索记忆",
  "Yes, forget it": "是的，忘记",
};
