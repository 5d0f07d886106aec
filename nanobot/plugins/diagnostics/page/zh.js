/** 中文。 English is the key. */

export default {
  "Collect again": "重新收集",
  "could not be collected": "无法收集",
  "Diagnostics": "诊断",
  "One archive to attach to a report of a problem. It holds no secrets, no words of conversations, and no names or ids of people. Read it here before you download it.":
    "一个可附在问题报告中的压缩包。其中没有密钥、对话内容，也没有人名或 ID。下载前请先在此阅读。",
};
